import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { Project } from "../helpers/project.ts";

/** The number of events that the kernel queues for all watches of a process. It drops further events. */
function queueLength(): number {
  try {
    return Number.parseInt(readFileSync("/proc/sys/fs/inotify/max_queued_events", "utf8"), 10);
  } catch {
    return Infinity;
  }
}

/** Fills the kernel's queue. Writes to two files in turn, because the kernel keeps only one of two equal events. */
function flood(project: Project): void {
  const files = ["a", "b"].map((name) => openSync(project.at(name), "w"));
  for (let i = 0; i <= queueLength(); i += 1) for (const file of files) writeSync(file, "x");
  for (const file of files) closeSync(file);
}

it.skipIf(process.platform !== "linux" || queueLength() > 1_000_000)(
  "a change in one watched folder is seen, although another one has filled the kernel's queue of events",
  async () => {
    await using busy = new Project();
    await using quiet = new Project();
    quiet.write("file", "one\n");
    const [, watched] = await Promise.all(
      [busy, quiet].map(async (project) => {
        const workspace = await project.init();
        await workspace.follow({ record: false });
        return workspace;
      }),
    );
    await sleep(2_500);
    expect((await watched?.status())?.changes).toEqual([]);
    // There is no `await` in between, so this process reads no events.
    flood(busy);
    quiet.write("file", "two\n");
    // Now the process reads the events that the kernel kept.
    await sleep(200);
    expect((await watched?.status())?.changes.map(({ path }) => path)).toEqual(["file"]);
  },
);
