import { join } from "node:path";
import { expect, it } from "vitest";
import { FollowedOrigin, WAYS } from "../helpers/followed-origin.ts";
import { copied, put, replaceIn, treeOf } from "../helpers/put-back-files.ts";

/**
 * A replica, a process with a store and a folder of its own, that is put back to an earlier state again and again, or replaced by a copy of
 * itself that goes on where it was. `PUT_BACK_ROUNDS=50`, as CI does, for more of it.
 */

const ROUNDS = Number(process.env["PUT_BACK_ROUNDS"] ?? 2);
const KINDS = ["all", "store", "copy"] as const;

/** A desk whose whole state is kept in folders beside it. */
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

  /** Started; where it has halted as a copy, somebody lets it go on as a new one. Has it? */
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
  `${ROUNDS} times put back or copied, nobody's file is lost, and both sides are equal (%s)`,
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
      // What is answered now, the one that is put back does not know.
      both.here(`later-${round}`);
      both.there(`there-${round}`);
      await both.flush();
      const held = treeOf(both.origin.project);
      if (kind === "copy") await both.keep("now");
      await both.putBack("then", kind !== "store");
      both.here(`again-${round}`);
      if (await both.goOn()) halts += 1;
      if (kind === "copy") {
        // The one that was there first goes on, too, with what the copy has made.
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
