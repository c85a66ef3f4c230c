import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import fc from "fast-check";
import { LAYOUTS, placedIn } from "../test/model/model-roots.ts";
import { histories, withoutHiding } from "../test/model/model-steps.ts";
import { type Accepted, compare, type Difference } from "./replay/alike.ts";
import type { Way } from "./replay/player.ts";
import type { Play, Transcript } from "./replay/transcript.ts";

/**
 * Plays the same random histories with two built programs, and prints the differences in answers, output, exit codes
 * and files on disk:
 *
 *     node scripts/replay-histories.ts --old DIR --new DIR [--histories N] [--seed S] [--ways library,http,cli]
 *
 * Further options:
 *
 * - `--accepted FILE`: accepted differences, as a JSON array of `{found, as, why}` (see `Accepted`). With this option,
 *   hashes are compared by the order in which they first occur, and not by their values.
 * - `--lanes N`: the number of histories that are played at the same time. Default: 2.
 * - `--tries N`: the maximum number of plays for shrinking a difference. Default: 30. Only the first difference of each
 *   kind is shrunk.
 * - `--from N`: leaves out the first N histories.
 * - `--steps N`: plays only the first N steps of each history. Default: 40.
 * - `--keep DIR`: writes the transcripts of both programs into this folder.
 *
 * The histories are those of the model (`test/model/model-steps.ts`), without its losses of power. A loss of power
 * comes after a certain number of disk operations, and a refactoring may change the number of disk operations.
 *
 * The exit code is 0 if nothing differs, 1 if anything differs, and 2 if a program is not built.
 */

const { values } = parseArgs({
  options: {
    old: { type: "string" },
    new: { type: "string" },
    histories: { type: "string", default: "100" },
    seed: { type: "string", default: "1" },
    ways: { type: "string", default: "library,http,cli" },
    lanes: { type: "string", default: "2" },
    accepted: { type: "string" },
    from: { type: "string", default: "0" },
    tries: { type: "string", default: "30" },
    steps: { type: "string", default: "40" },
    keep: { type: "string" },
  },
});

/** The pid of the first process of a lane. It is too large for a real process. */
const FIRST_PID = 5_000_000;

const base = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-replay-")));
process.on("exit", () => rmSync(base, { recursive: true, force: true }));

const preload = join(base, "preload.mjs");
process.removeAllListeners("warning");
const source = readFileSync(join(import.meta.dirname, "replay/preload.ts"), "utf8");
writeFileSync(preload, stripTypeScriptTypes(source));
const stat = join(base, "stat");
// The format is that of proc_pid_stat(5). The process is a child of process 1, and has started at the clock tick 777.
writeFileSync(stat, `1 (agent) S 1${" 0".repeat(17)} 777 0 0\n`);

/** A process (`replay/player.ts`) that plays histories with one program. */
class Player {
  readonly #child;
  readonly #lines;

  constructor(way: Way, program: string, lane: number) {
    const folder = join(base, `${way}-${lane}`);
    mkdirSync(folder, { recursive: true });
    const words = [join(import.meta.dirname, "replay/player.ts"), way, resolve(program), folder];
    const env = {
      ...{ PATH: process.env["PATH"], HOME: base, TZ: "UTC", LANG: "C.UTF-8", NO_COLOR: "1" },
      ...{ NODE_OPTIONS: `--disable-warning=ExperimentalWarning --import=${preload}` },
      ...{ REPLAY_CLOCK: "0", REPLAY_PID: String(FIRST_PID), REPLAY_STAT: stat, REPLAY_STORE: join(folder, "h") },
    };
    this.#child = spawn(process.execPath, words, { env, stdio: ["pipe", "pipe", "inherit"] });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  async play(play: Play): Promise<Transcript> {
    this.#child.stdin.write(`${JSON.stringify(play)}\n`);
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error(`a player ended in history ${play.number}`);
    return JSON.parse(value) as Transcript;
  }

  close(): void {
    this.#child.stdin.end();
  }
}

/** The players of both programs. They play each history one after the other, in the same folder. */
class Lane {
  readonly #old: Player;
  readonly #new: Player;
  readonly #accepted: readonly Accepted[];

  constructor(way: Way, lane: number, accepted: readonly Accepted[]) {
    this.#old = new Player(way, values.old ?? "", lane);
    this.#new = new Player(way, values.new ?? "", lane);
    this.#accepted = accepted;
  }

  async play(play: Play): Promise<readonly Difference[]> {
    const old = await this.#old.play(play);
    const fresh = await this.#new.play(play);
    if (values.keep !== undefined) keep(values.keep, play, { old, new: fresh });
    return compare(old, fresh, this.#accepted);
  }

  close(): void {
    this.#old.close();
    this.#new.close();
  }
}

/** Writes both transcripts of a history into a folder, for inspection. */
function keep(folder: string, { number }: Play, both: Readonly<Record<string, Transcript>>): void {
  mkdirSync(folder, { recursive: true });
  for (const [name, one] of Object.entries(both))
    writeFileSync(join(folder, `${number}.${name}.json`), JSON.stringify(one, null, 1));
}

/**
 * Returns the histories of the model, which depend only on the seed. In every second history, the workspace has no
 * folder. With commands, the workspace always has a folder, because commands need one.
 */
function playsIn(way: Way): Play[] {
  const all = fc.sample(histories, { numRuns: Number(values.histories), seed: Number(values.seed) });
  return all.slice(Number(values.from)).map(({ script, keep: kept, hides, ...more }, i): Play => {
    const number = Number(values.from) + i;
    const hosted = way !== "cli" && number % 2 === 1;
    const layout = hosted ? "one" : more.layout;
    const placed = placedIn(LAYOUTS[layout] ?? [], hides ? script : withoutHiding(script));
    return { script: placed.slice(0, Number(values.steps)), keep: kept, hooks: more.hooks, layout, hosted, number };
  });
}

interface Shrunk {
  readonly play: Play;
  readonly found: Difference;
  readonly tries: number;
}

/**
 * Shortens the script of a history, by leaving out parts without which a difference of the same kind still occurs.
 * Resolves to the shortest history found.
 */
async function shrink(lane: Lane, play: Play, found: Difference): Promise<Shrunk> {
  let least: Shrunk = {
    play: { ...play, script: play.script.slice(0, found.step < 0 ? undefined : found.step + 1) },
    found,
    tries: 0,
  };
  let tries = 0;
  for (let size = Math.ceil(least.play.script.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < least.play.script.length && tries < Number(values.tries);) {
      const script = least.play.script.toSpliced(from, size);
      tries += 1;
      const again = await lane.play({ ...least.play, script });
      const same = again.find((one) => one.kind === found.kind);
      if (same === undefined) from += size;
      else least = { play: { ...least.play, script }, found: same, tries };
    }
  }
  return { ...least, tries };
}

interface Kind {
  count: number;
  readonly first: number;
}

/** Plays all histories in one way. Resolves to the number of histories with a difference. */
async function playAll(way: Way, all: readonly Play[], accepted: readonly Accepted[]): Promise<number> {
  const began = performance.now();
  const kinds = new Map<string, Kind>();
  const left = all.values();
  let differing = 0;
  const work = async (number: number): Promise<void> => {
    const lane = new Lane(way, number, accepted);
    for (const play of left) {
      const all = await lane.play(play);
      if (all.length > 0) differing += 1;
      for (const found of new Map(all.toReversed().map((one) => [one.kind, one])).values()) {
        const kind = kinds.get(found.kind);
        if (kind !== undefined) kind.count += 1;
        else {
          kinds.set(found.kind, { count: 1, first: play.number });
          tell(way, await shrink(lane, play, found));
        }
      }
    }
    lane.close();
  };
  await Promise.all(Array.from({ length: Number(values.lanes) }, (_, number) => work(number)));
  const minutes = (performance.now() - began) / 60_000;
  const rate = Math.round(all.length / minutes);
  console.log(
    `${way}: ${all.length} histories, ${differing} differ, in ${kinds.size} kinds; ${rate} histories a minute`,
  );
  for (const [kind, { count, first }] of kinds) console.log(`  ${count} × ${kind} (history ${first})`);
  return differing;
}

function tell(way: Way, { play, found, tries }: Shrunk): void {
  const { number, layout, keep: kept } = play;
  console.log(
    `\n${way}, seed ${values.seed}, history ${number}: ${found.call} (step ${found.step}, shrunk by ${tries} plays)`,
  );
  console.log(`  - ${found.old}\n  + ${found.new}`);
  console.log(`  roots: ${layout}; snapshots kept: ${kept}`);
  for (const { what } of play.script) console.log(`  ${JSON.stringify(what)}`);
}

const WAYS: readonly Way[] = ["library", "http", "cli"];

/** Resolves to the exit code. */
async function main(): Promise<number> {
  const asked = values.ways.split(",");
  const ways = WAYS.filter((way) => asked.includes(way));
  for (const program of [values.old, values.new]) {
    if (program !== undefined && existsSync(join(program, "dist/cli.js"))) continue;
    console.error(`${program ?? "--old and --new"}: there is no built program (run \`npm ci && npm run build\` there)`);
    return 2;
  }
  const accepted =
    values.accepted === undefined ? [] : (JSON.parse(readFileSync(values.accepted, "utf8")) as readonly Accepted[]);
  let differing = 0;
  for (const way of ways) differing += await playAll(way, playsIn(way), accepted);
  return differing === 0 ? 0 : 1;
}

process.exitCode = await main();
