import { closeSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { TwoSides } from "../helpers/two-sides.ts";

/** So many events the kernel keeps for a watcher that does not read them; what comes then is dropped. */
const QUEUE = queueLength();

function queueLength(): number {
  try {
    return Number.parseInt(readFileSync("/proc/sys/fs/inotify/max_queued_events", "utf8"), 10);
  } catch {
    return Infinity;
  }
}

/** The kernel's own queue of events, overflown in a real replica that does not run meanwhile. */
describe.skipIf(process.platform !== "linux" || QUEUE > 1_000_000)(
  "a replica that sleeps while very much happens",
  () => {
    it("finds all of it, also that of which the kernel has dropped the events", async () => {
      await using sides = new TwoSides();
      sides.write("origin", "kept/file", "as it was\n");
      sides.write("origin", "gone/file", "to be deleted\n");
      const { child } = await sides.follow();
      await sides.becomes("desk", "kept/file", "as it was\n");
      await sides.becomes("desk", "gone/file", "to be deleted\n");
      sides.write("desk", "first", "before it sleeps\n");
      await sides.becomes("origin", "first", "before it sleeps\n");

      child.kill("SIGSTOP");
      fillQueue(sides);
      // Nobody is ever told of these.
      sides.write("desk", "kept/file", "edited behind its back\n");
      sides.write("desk", "new/deep/file", "made behind its back\n");
      rmSync(sides.path("desk", "gone"), { recursive: true });
      child.kill("SIGCONT");

      await sides.becomes("origin", "kept/file", "edited behind its back\n");
      await sides.becomes("origin", "new/deep/file", "made behind its back\n");
      await sides.becomes("origin", "gone/file", undefined);
      sides.write("origin", "last", "and on it goes\n");
      await sides.becomes("desk", "last", "and on it goes\n");
      expect(child.exitCode).toBeNull();
    });
  },
);

/** Two files in turn: of the same event twice in a row the kernel keeps one. */
function fillQueue(sides: TwoSides): void {
  const files = ["a", "b"].map((name) => openSync(sides.path("desk", `busy-${name}`), "w"));
  for (let i = 0; i <= QUEUE; i += 1) for (const fd of files) writeSync(fd, "x");
  for (const fd of files) closeSync(fd);
}
