import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { WorkspaceApi } from "../src/api/workspace-api.ts";
import { openStore } from "../src/open.ts";
import { amountFor, type Bench, type BenchContext } from "./lib/bench.ts";
import { withWorkspace } from "./lib/open-workspace.ts";

/** Without limits, nothing is pruned, and the measured size includes everything that was recorded. */
const KEEP_ALL = { max_snapshots: 0, max_age_days: 0 };
const SHORT = 1_000;
const LONG = 10_000;
const FILES = 200;
const LINES = 100;

export const actionSession: Bench = {
  name: "action-session",
  isLong: true,
  promise: "a session of 10,000 actions costs stored bytes in proportion to what changed",
  async run(context) {
    const [few, many] = [
      amountFor(context, { what: "actions of the short session", all: SHORT }),
      amountFor(context, { what: "actions of the long session", all: LONG, quick: 500 }),
    ];
    const short = await session(context, few);
    context.say(`${few} actions: ${(short.stored / few / 1024).toFixed(2)} KiB each`);
    const long = await session(context, many);
    const mib = (bytes: number): number => bytes / 2 ** 20;
    return {
      rows: [
        { what: `written by ${many} actions`, unit: "MiB", samples: [mib(long.written)] },
        { what: `stored for ${many} actions`, unit: "MiB", samples: [mib(long.stored)] },
        { what: `stored per action, session of ${few}`, unit: "KiB", samples: [short.stored / few / 1024] },
        { what: `stored per action, session of ${many}`, unit: "KiB", samples: [long.stored / many / 1024] },
        { what: `time per action, session of ${many}`, unit: "ms", samples: [long.ms / many] },
      ],
      ratios: [
        { what: "stored / written", samples: [long.stored / long.written], target: undefined },
        {
          what: `stored per action, session of ${many} / of ${few}`,
          samples: [long.stored / many / (short.stored / few)],
          target: { kind: "at-most", value: 1.1 },
        },
      ],
      notes: [
        `each action rewrites one of ${FILES} files of about 3 KB, with one of ${LINES} lines changed. "Stored" is the disk space of the closed store, without the space that the baseline took`,
      ],
    };
  },
};

interface Found {
  /** The number of bytes that the actions wrote. */
  readonly written: number;
  /** The number of bytes by which the store has grown on the disk. */
  readonly stored: number;
  /** The time from opening the store until it is closed, in milliseconds. */
  readonly ms: number;
}

/** Measures a session of `actions` actions in a new store. */
async function session(context: BenchContext, actions: number): Promise<Found> {
  const tree = context.scratch.fresh("action-session-tree");
  const home = context.scratch.fresh("action-session-store");
  manyFiles(tree);
  await withWorkspace(home, tree, () => Promise.resolve());
  const before = diskUse(home);
  const started = performance.now();
  const store = await openStore({ home: join(home, "home"), configFolder: join(home, "config"), retention: KEEP_ALL });
  const workspace = await store.open({ folder: tree });
  const written = await act(workspace, tree, actions);
  await workspace.close();
  await store.close();
  return { written, stored: diskUse(home) - before, ms: performance.now() - started };
}

/** Carries out a session. Resolves to the number of bytes that the actions wrote. */
async function act(workspace: WorkspaceApi, tree: string, actions: number): Promise<number> {
  await workspace.startSession({ id: "bench", actor: "bench" });
  let written = 0;
  for (let n = 0; n < actions; n++) {
    const path = pathOf(n % FILES);
    const text = content(n % FILES, n);
    const request = { type: "write_file", payload: { path }, session: "bench", turn: `turn-${n >> 4}` };
    await workspace.action(request, () => writeFileSync(join(tree, path), text));
    written += text.length;
  }
  return written;
}

const pathOf = (file: number): string => `src/part-${file % 10}/file-${file}.ts`;

/** Returns the text of a file, with one line that depends on `n`. */
function content(file: number, n: number): string {
  const lines = Array.from(
    { length: LINES },
    (_, i) => `export const value${i} = "${(file * 7919 + i * 104_729).toString(36)}";`,
  );
  lines[n % LINES] = `export const changed = ${n};`;
  return `${lines.join("\n")}\n`;
}

function manyFiles(tree: string): void {
  for (let file = 0; file < FILES; file++) {
    const text = content(file, 0);
    mkdirSync(join(tree, `src/part-${file % 10}`), { recursive: true });
    writeFileSync(join(tree, pathOf(file)), text);
  }
}

/** Returns the disk space of a folder, in bytes. */
function diskUse(folder: string): number {
  const du = spawnSync("du", ["-s", "--block-size=1", folder], { encoding: "utf8" });
  if (du.status !== 0) throw new Error(`du failed: ${du.stderr}`);
  return Number.parseInt(du.stdout, 10);
}
