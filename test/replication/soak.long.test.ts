import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import type { LogEventShape } from "../../src/api/shapes.ts";
import type { SyncApi } from "../../src/api/sync-api.ts";
import { ChronicleError } from "../../src/core/values/errors.ts";
import { agentsRequired } from "../agents/installed-agents.ts";
import type { CutWire } from "../helpers/cut-wire.ts";
import { random, SharedPaths } from "../helpers/replica-trial.ts";
import { DeskEditor, type Save } from "./desk-editor.ts";
import { SandboxAgent } from "./sandbox-agent.ts";
import { Place } from "./soak-place.ts";

/**
 * A working day in some seconds: an origin that is written to, a real agent in a sandbox that follows it over
 * WebSocket, a person's editors in a folder that follows it over a Unix socket, and a network that breaks every other
 * second.
 * `SOAK_SECONDS=600 SOAK_SEED=…` for more of it.
 */

const SECONDS = Number(process.env["SOAK_SECONDS"] ?? 20);
const SEED = Number(process.env["SOAK_SEED"] ?? 1);
/** A content that its own writer replaced sooner may have been gone before a capture could see it. */
const RESTED_MS = 5_000;

test(
  `an agent, a person and an origin, ${SECONDS} seconds with random cuts: equal trees, nothing lost`,
  { timeout: SECONDS * 1_000 + 300_000 },
  async () => {
    await using place = await Place.open();
    const { origin, box, desk, wires } = place;
    const { source, boxSyncs, deskSyncs } = place.parts;
    const agent = new SandboxAgent(box.userHome, box.folder, random(SEED + 1));
    if (agentsRequired) expect(agent.isReal).toBe(true);
    agent.install(box.env);
    const editor = new DeskEditor(desk.folder, random(SEED + 2));
    const writer = new SharedPaths(source, "origin", random(SEED + 3), "shared/%.md");

    const [ending, calm] = [new AbortController(), new AbortController()];
    const person = new Settler(deskSyncs, desk.id, random(SEED + 4));
    const minder = new Settler(boxSyncs, box.id, random(SEED + 5));
    const working = Promise.all([agent, editor, writer, person, minder].map((one) => one.run(ending.signal)));
    working.catch(() => ending.abort());
    const weather = wires.map((wire, n) => storm(wire, random(SEED + 6 + n), calm.signal));
    await Promise.race([delay(SECONDS * 1_000), working]);
    ending.abort();
    await working;
    calm.abort();
    await Promise.all(weather);

    const rested = await comeToRest([
      [boxSyncs, box.id],
      [deskSyncs, desk.id],
    ]);
    const disputes = await Promise.all([boxSyncs.conflicts(box.id), deskSyncs.conflicts(desk.id)]);
    const [inBox, onDesk] = disputes.map((found) => found.map(({ path }) => path)) as [string[], string[]];
    expect(filesIn(box.folder, inBox)).toEqual(filesIn(origin.project, inBox));
    expect(filesIn(desk.folder, onDesk)).toEqual(filesIn(origin.project, onDesk));

    const there = await source.log();
    const { box: ofBox, desk: ofDesk } = await place.end();
    const histories = { origin: keptIn(there), box: keptIn(ofBox), desk: keptIn(ofDesk) };
    expect(writer.answered.filter(({ hash }) => !histories.origin.has(hash))).toEqual([]);
    expect(lost(agent.saves, histories.box)).toEqual([]);
    expect(lost(editor.saves, histories.desk)).toEqual([]);
    // Every content of a folder, in dispute or not, is in the folder's history as well.
    for (const [folder, kept] of [
      [origin.project, histories.origin],
      [box.folder, histories.box],
      [desk.folder, histories.desk],
    ] as const) {
      const standing = Object.entries(filesIn(folder, [])).filter(([, state]) => !state.endsWith("folder"));
      expect(standing.filter(([, state]) => !kept.has(state.split(" ")[1] ?? ""))).toEqual([]);
    }
    for (const problems of await place.complaints()) expect(problems).toEqual([]);

    const saved = [agent.saves.length, editor.saves.length, writer.answered.length];
    const arrived = [...agent.saves, ...editor.saves].filter(({ hash }) => histories.origin.has(hash)).length;
    process.stdout.write(
      `${agent.isReal ? "claude" : "a script"}: ${agent.sessions} sessions, ${saved[0]} saves; desk: ${saved[1]} saves; ` +
        `origin: ${saved[2]} writes; ${arrived} of ${agent.saves.length + editor.saves.length} contents in the origin's history; ` +
        `cuts ${wires.map(({ cuts }) => cuts).join("+")}, connections ${wires.map(({ made }) => made).join("+")}; ` +
        `${person.settled}+${minder.settled} conflicts settled, ${inBox.length}+${onDesk.length} open; ` +
        `events ${there.length}, ${ofBox.length}, ${ofDesk.length}; at rest after ${Math.round(rested)} ms\n`,
    );
    for (const count of saved) expect(count).toBeGreaterThan(SECONDS / 20);
  },
);

/** Settles conflicts now and then, one way or another, as a person does who looks at them. */
class Settler {
  settled = 0;
  readonly #syncs: SyncApi;
  readonly #id: string;
  readonly #random: () => number;

  constructor(syncs: SyncApi, id: string, random: () => number) {
    this.#syncs = syncs;
    this.#id = id;
    this.#random = random;
  }

  async run(ending: AbortSignal): Promise<void> {
    while (!ending.aborted) {
      await Promise.race([delay(2_000 + this.#random() * 3_000), aborted(ending)]);
      for (const { path } of await this.#syncs.conflicts(this.#id)) await this.#settle(path);
    }
  }

  async #settle(path: string): Promise<void> {
    const keep = (["local", "upstream", "merge"] as const)[Math.floor(this.#random() * 3)] ?? "local";
    try {
      await this.#syncs.resolve(this.#id, path, { keep });
      this.settled += 1;
    } catch (error) {
      // The conflict is over already, or its sides do not merge. The next round looks again.
      if (!(error instanceof ChronicleError) || !["NOT_FOUND", "REFUSED"].includes(error.code)) throw error;
    }
  }
}

/** A network that breaks every one to three seconds, in one way or another, until it is calm. */
async function storm(wire: CutWire, chance: () => number, calm: AbortSignal): Promise<void> {
  while (!calm.aborted) {
    await Promise.race([delay(1_000 + chance() * 2_000), aborted(calm)]);
    const dice = chance();
    wire.dribble(dice > 0.9);
    if (dice < 0.45) wire.cut("end");
    else if (dice < 0.8) wire.cut("reset");
    else if (dice < 0.85) wire.swallow(chance() < 0.5 ? "up" : "down");
  }
  wire.dribble(false);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Waits until all sides have everything that any of them has brought to the origin. Returns the time in ms. */
async function comeToRest(syncs: readonly (readonly [SyncApi, string])[]): Promise<number> {
  const began = performance.now();
  for (let round = 0; round < 3; round += 1) for (const [one, id] of syncs) await one.flush(id, { timeoutMs: 120_000 });
  return performance.now() - began;
}

/** Every path of a folder with its mode and the hash of its content, except disputed paths and the paths in them. */
function filesIn(folder: string, disputed: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted()) {
    if (disputed.some((one) => path === one || path.startsWith(`${one}/`))) continue;
    const stat = statSync(join(folder, path));
    const what = stat.isFile() ? sha256(readFileSync(join(folder, path))) : "folder";
    found[path] = `${(stat.mode & 0o7777).toString(8)} ${what}`;
  }
  return found;
}

function sha256(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** The hashes of all contents that a history names, in whatever record. */
function keptIn(log: readonly LogEventShape[]): Set<string> {
  return new Set(
    log.flatMap(({ record }) =>
      [...JSON.stringify(record ?? null).matchAll(/"hash":"([0-9a-f]{64})"/g)].map(([, hash]) => hash ?? ""),
    ),
  );
}

/** The saves that rested for a while, and whose content the history does not name. */
function lost(saves: readonly Save[], kept: ReadonlySet<string>): Save[] {
  return saves.filter(
    ({ path, at, hash }, n) =>
      !kept.has(hash) && !saves.slice(n + 1).some((later) => later.path === path && later.at - at < RESTED_MS),
  );
}
