import { join } from "node:path";
import { expect, it } from "vitest";
import { FollowedOrigin, WAYS } from "../helpers/followed-origin.ts";
import { copied, put, replaceIn, treeOf } from "../helpers/put-back-files.ts";

/**
 * A replica (a process with its own store and folder) that is put back to an earlier state again and again, or replaced
 * by a copy of itself. `PUT_BACK_ROUNDS`: the number of rounds. CI runs 50.
 */

const ROUNDS = Number(process.env["PUT_BACK_ROUNDS"] ?? 2);
const KINDS = ["all", "store", "copy"] as const;

/** An origin with a replica whose whole state can be kept in folders and put back. */
class Desk extends FollowedOrigin {
  async keep(name: string): Promise<void> {
    await this.replica.kill();
    copied(this.replica.userHome, this.#at(name, "home"));
    copied(this.replica.folder, this.#at(name, "folder"));
  }

  async putBack(name: string, isWhole: boolean): Promise<void> {
    await this.replica.kill();
    replaceIn(this.replica.userHome, this.#at(name, "home"));
    if (isWhole) replaceIn(this.replica.folder, this.#at(name, "folder"));
  }

  here(path: string): void {
    put(this.replica.folder, path, `${path}\n`);
  }

  there(path: string): void {
    put(this.origin.project, path, `${path}\n`);
  }

  /** Starts the replica. If it halts as a copy, adopts it as a new replica. Resolves to true if it has halted. */
  async goOn(): Promise<boolean> {
    await this.startReplica();
    const { state, halted } = await this.until((shape) => shape.state === "halted" || shape.state === "in-sync");
    if (state === "halted") {
      if (halted !== "forked") throw new Error(`it has halted: ${halted}`);
      await this.adoptAsNew();
    } else await this.flush();
    return state === "halted";
  }

  #at(name: string, part: string): string {
    return join(this.replica.base, name, part);
  }
}

it.each(WAYS)(
  `a replica that is put back or copied ${ROUNDS} times loses no file, and both sides become equal (%s)`,
  async (way) => {
    await using both = new Desk(way);
    both.there("base");
    await both.start();
    let halts = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const kind = KINDS[round % KINDS.length] ?? "all";
      both.here(`before-${round}`);
      await both.flush();
      await both.keep("then");
      await both.startReplica();
      // The replica that is put back does not know these files.
      both.here(`later-${round}`);
      both.there(`there-${round}`);
      await both.flush();
      const held = treeOf(both.origin.project);
      if (kind === "copy") await both.keep("now");
      await both.putBack("then", kind !== "store");
      both.here(`again-${round}`);
      if (await both.goOn()) halts += 1;
      if (kind === "copy") {
        // The first replica is put back as well, and gets the files that the copy has made.
        await both.putBack("now", true);
        both.here(`first-${round}`);
        if (await both.goOn()) halts += 1;
      }
      const all = treeOf(both.origin.project);
      expect(treeOf(both.replica.folder)).toEqual(all);
      expect(all).toMatchObject({ ...held, [`again-${round}`]: `again-${round}\n` });
      expect(await both.status()).toMatchObject({ state: "in-sync", conflicts: 0 });
    }
    expect(halts).toBeGreaterThan(0);
  },
  120_000 + ROUNDS * 60_000,
);
