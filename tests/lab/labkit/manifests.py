"""The hosts of a lab as Metal3 would show them: a BareMetalHost and its HardwareData each."""

import uuid
from typing import Any

from . import names
from .hardware import bytes_of
from .model import Host, Lab

_NAMESPACE = "metal3"
_API = "metal3.io/v1alpha1"
_INSTALLED = "2026-01-15T09:20:00Z"


def objects(lab: Lab) -> list[dict[str, Any]]:
    """All objects, host by host. A host whose hardware is not known has no HardwareData."""
    found: list[dict[str, Any]] = []
    for host in lab.hosts:
        found.append(_bare_metal_host(lab, host))
        if host.hardware_known:
            found.append(_hardware_data(lab, host))
    return found


def _uid(lab: Lab, host: Host, kind: str) -> str:
    """The same each time it is asked for, different in each lab."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"bpa-lab/{lab.name}/{host.name}/{kind}"))


def _metadata(lab: Lab, host: Host, kind: str) -> dict[str, Any]:
    return {"name": host.name, "namespace": _NAMESPACE, "uid": _uid(lab, host, kind),
            "resourceVersion": str(1000 + names.host_number(host.name)), "generation": 2,
            "creationTimestamp": "2026-01-15T09:00:00Z"}


def _bare_metal_host(lab: Lab, host: Host) -> dict[str, Any]:
    number = names.host_number(host.name)
    metadata = {**_metadata(lab, host, "BareMetalHost"), "finalizers": ["baremetalhost.metal3.io"]}
    if host.labels:
        metadata["labels"] = dict(host.labels)
    image = {"url": "http://images.example/debian-12.qcow2", "checksum": "http://images.example/debian-12.sha256",
             "checksumType": "sha256", "format": "qcow2"}
    credentials = {"credentials": {"name": f"{host.name}-bmc", "namespace": _NAMESPACE}, "credentialsVersion": "900"}
    return {
        "apiVersion": _API, "kind": "BareMetalHost", "metadata": metadata,
        "spec": {
            "online": True, "bootMACAddress": host.mac, "bootMode": "UEFI", "architecture": "x86_64",
            "automatedCleaningMode": "metadata",
            "bmc": {"address": f"redfish://192.0.2.{number % 254 + 1}/redfish/v1/Systems/{number}",
                    "credentialsName": f"{host.name}-bmc"},
            "image": image,
        },
        "status": {
            "operationalStatus": "OK", "errorMessage": "", "errorCount": 0, "poweredOn": True,
            "hardwareProfile": "unknown", "lastUpdated": _INSTALLED,
            "goodCredentials": credentials, "triedCredentials": credentials,
            "provisioning": {"state": "provisioned", "ID": _uid(lab, host, "node"), "bootMode": "UEFI", "image": image},
            "operationHistory": {
                "register": {"start": "2026-01-15T09:00:02Z", "end": "2026-01-15T09:00:09Z"},
                "inspect": {"start": "2026-01-15T09:00:10Z", "end": "2026-01-15T09:06:31Z"},
                "provision": {"start": "2026-01-15T09:12:40Z", "end": _INSTALLED},
                "deprovision": {"start": None, "end": None},
            },
        },
    }


def _hardware_data(lab: Lab, host: Host) -> dict[str, Any]:
    number = names.host_number(host.name)
    owner = {"apiVersion": _API, "kind": "BareMetalHost", "name": host.name, "controller": True,
             "blockOwnerDeletion": True, "uid": _uid(lab, host, "BareMetalHost")}
    metadata = {**_metadata(lab, host, "HardwareData"), "ownerReferences": [owner],
                "finalizers": ["baremetalhost.metal3.io/hardwareData"]}
    return {
        "apiVersion": _API, "kind": "HardwareData", "metadata": metadata,
        "spec": {"hardware": {
            "hostname": "localhost.localdomain",
            "cpu": {"arch": "x86_64", "count": host.hardware.cpu, "clockMegahertz": 2600,
                    "model": "Lab Processor 2.60GHz", "flags": ["aes", "avx2", "sse4_2", "vmx"]},
            "ramMebibytes": bytes_of(host.hardware.memory) // 2**20,
            "firmware": {"bios": {"vendor": "Lab Firmware", "version": "1.4", "date": "03/01/2025"}},
            # The address is the one of the inspection, long gone: never the host's address of today.
            "nics": [{"name": "eth0", "model": "0x8086 0x1572", "mac": host.mac, "pxe": True, "speedGbps": 10,
                      "vlanId": 0, "ip": f"{names.LAN_PREFIX}.{201 + number % 50}"}],
            "storage": [{"name": "/dev/disk/by-path/pci-0000:00:1f.2-ata-1", "alternateNames": ["/dev/sda"],
                         "type": "SSD", "sizeBytes": bytes_of(host.hardware.disk), "vendor": "Lab",
                         "model": "Lab SSD", "serialNumber": f"DISK{number:06d}", "hctl": "0:0:0:0"}],
            "systemVendor": {"manufacturer": "Lab Machines", "productName": "Namespace 1",
                             "serialNumber": f"LAB{number:06d}"},
        }},
    }
