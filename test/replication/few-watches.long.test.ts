import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { TwoSides } from "../helpers/two-sides.ts";

const FOLDERS = 40;
/** In a user namespace of its own a process may be given fewer watches than the machine has. */
const WITH_FEW_WATCHES = ["-Ur", "sh", "-c", 'echo 12 > /proc/sys/user/max_inotify_watches && exec "$@"', "sh"];
const canLimit = spawnSync("unshare", [...WITH_FEW_WATCHES, "true"]).status === 0;

/** A real replica reaches the kernel's own limit of watches. No watcher is made to fail. */
describe.skipIf(!canLimit)("a replica that gets too few watches", () => {
  it("says so, scans its folder instead, and gets the same files as the origin", async () => {
    await using sides = new TwoSides();
    for (let i = 0; i < FOLDERS; i += 1) sides.write("origin", `d${i}/file`, `${i}\n`);
    const { said } = await sides.follow(["unshare", ...WITH_FEW_WATCHES]);
    const last = `d${FOLDERS - 1}/file`;
    await sides.becomes("desk", last, `${FOLDERS - 1}\n`);
    await expect.poll(() => said.join(""), { timeout: 60_000 }).toContain("cannot be watched as a whole");
    sides.write("desk", last, "edited at the desk\n");
    sides.write("desk", "new/deep/file", "made at the desk\n");
    sides.write("origin", "d0/file", "edited at the origin\n");
    await sides.becomes("origin", last, "edited at the desk\n");
    await sides.becomes("origin", "new/deep/file", "made at the desk\n");
    await sides.becomes("desk", "d0/file", "edited at the origin\n");
  });
});
