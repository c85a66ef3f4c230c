import { describe, expect, test } from "vitest";
import type { Disk } from "../../disk/disk.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { FsyncScheduler } from "./fsync-scheduler.ts";

/** Records how each file was synced. */
class Noted {
  readonly how: string[] = [];
  readonly disk: Disk;
  readonly #ends: (() => void)[] = [];

  constructor(failing?: number) {
    const fail = (fd: number): void => {
      if (fd === failing) throw new Error(`no sync of ${fd}`);
    };
    this.disk = Object.assign(new SimDisk(), {
      sync: (fd: number) => {
        this.how.push(`${fd} alone`);
        fail(fd);
      },
      syncBeside: async (fd: number) => {
        this.how.push(`${fd} beside`);
        await new Promise<void>((resolve) => this.#ends.push(resolve));
        fail(fd);
      },
    });
  }

  /** Lets the running concurrent syncs end. */
  end(): void {
    for (const end of this.#ends.splice(0)) end();
  }
}

const turn = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));

describe("a scheduler for syncs", () => {
  test("runs a single sync at once, and several syncs concurrently", async () => {
    const noted = new Noted();
    const scheduler = new FsyncScheduler(noted.disk);
    await scheduler.sync(1);
    const [two, three] = [scheduler.sync(2), scheduler.sync(3)];
    await turn();
    // A request does not wait for syncs that are already running.
    const four = scheduler.sync(4);
    await turn();
    expect(noted.how).toEqual(["1 alone", "2 beside", "3 beside", "4 beside"]);
    noted.end();
    await Promise.all([two, three, four]);
    await turn();
    await scheduler.sync(5);
    expect(noted.how.at(-1)).toBe("5 alone");
  });

  test("rejects only the request whose sync fails", async () => {
    const noted = new Noted(2);
    const scheduler = new FsyncScheduler(noted.disk);
    await expect(scheduler.sync(2)).rejects.toThrow("no sync of 2");
    const both = Promise.allSettled([scheduler.sync(2), scheduler.sync(3)]);
    await turn();
    noted.end();
    expect((await both).map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
  });
});
