//! Loops of one shape: observe, decide (pure), act, report.
