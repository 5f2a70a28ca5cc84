"""A memory cgroup of our own below the one that this process is in, where the machine lets us make one."""
import os
import pathlib
import subprocess
import time


class Cgroup:
    def __init__(self, folder, limit_file):
        self.folder, self.limit_file = folder, limit_file
        folder.mkdir()

    def set_limit(self, limit):
        (self.folder / self.limit_file).write_text(str(limit))

    def enter(self):
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def remove(self):
        for _ in range(50):  # a process that has just ended may still be in it
            try:
                return self.folder.rmdir()
            except OSError:
                time.sleep(0.1)


def make_cgroup():
    """None where nobody may."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            mount, limit_file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
        elif not controllers:
            mount, limit_file = "/sys/fs/cgroup", "memory.max"
        else:
            continue
        group = None
        try:
            group = Cgroup(pathlib.Path(mount + path) / f"tonnage_test_{os.getpid()}", limit_file)
            group.set_limit(1 << 40)
            subprocess.run(["true"], preexec_fn=group.enter, check=True)
            return group
        except (OSError, subprocess.SubprocessError):
            if group is not None:
                group.remove()
    return None
