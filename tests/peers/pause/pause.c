/*
 * The first process of each pod: it holds the pod's namespaces open, collects
 * children that nobody else waits for, and ends when it is told to.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void stop(int signal_number)
{
	(void)signal_number;
	_exit(0);
}

static void reap(int signal_number)
{
	(void)signal_number;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static void on(int signal_number, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler };

	sigemptyset(&action.sa_mask);
	if (sigaction(signal_number, &action, NULL) != 0)
		_exit(1);
}

int main(void)
{
	on(SIGINT, stop);
	on(SIGTERM, stop);
	on(SIGCHLD, reap);
	for (;;)
		pause();
}
