import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { WorkspaceApi } from "../src/api/workspace-api.ts";
import type { Bench } from "./lib/bench.ts";
import { withWorkspace } from "./lib/open-workspace.ts";

const ACTIONS = 10_000;
const PARTS = 10;
const FILES = 200;
const LINES = 100;

export const actionSession: Bench = {
  name: "action-session",
  promise: "a session of 10,000 actions costs stored bytes in proportion to what changed",
  async run(context) {
    const tree = context.scratch.fresh("action-session-tree");
    const written = manyFiles(tree);
    const home = context.scratch.fresh("action-session-store");
    const found = await withWorkspace(home, tree, (workspace) => act({ workspace, tree, home, say: context.say }));
    const [first = 0, last = 0] = [found.growth[0], found.growth.at(-1)];
    const total = found.growth.reduce((sum, bytes) => sum + bytes, 0);
    const mib = (bytes: number): number => bytes / 2 ** 20;
    return {
      rows: [
        { what: "the files, before", unit: "MiB", samples: [mib(written)] },
        { what: "written by the actions", unit: "MiB", samples: [mib(found.changed)] },
        { what: "stored for them", unit: "MiB", samples: [mib(total)] },
        {
          what: "stored for each action",
          unit: "KiB",
          samples: found.growth.map((bytes) => bytes / 1024 / (ACTIONS / PARTS)),
        },
        { what: "an action in the last tenth", unit: "ms", samples: [found.lastMs] },
      ],
      ratios: [
        { what: "stored / written", samples: [total / found.changed], target: { kind: "at-most", value: 1 } },
        {
          what: "the last tenth / the first tenth, stored",
          samples: [last / first],
          target: { kind: "at-most", value: 1.2 },
        },
      ],
      notes: [
        `${ACTIONS} actions that each write one of ${FILES} files anew, one line of ${LINES} different; ${PARTS} parts; the space is what the disk gives to the store's files`,
      ],
    };
  },
};

interface Work {
  readonly workspace: WorkspaceApi;
  readonly tree: string;
  readonly home: string;
  readonly say: (words: string) => void;
}

interface Found {
  /** Bytes that the actions wrote. */
  readonly changed: number;
  /** How much the store has grown in each part. */
  readonly growth: readonly number[];
  readonly lastMs: number;
}

async function act({ workspace, tree, home, say }: Work): Promise<Found> {
  await workspace.startSession({ id: "bench", actor: "bench" });
  let changed = 0;
  let lastMs = 0;
  let size = diskUse(home);
  const growth: number[] = [];
  for (let part = 0; part < PARTS; part++) {
    const started = performance.now();
    for (let i = 0; i < ACTIONS / PARTS; i++) {
      const n = part * (ACTIONS / PARTS) + i;
      const path = pathOf(n % FILES);
      const text = content(n % FILES, n);
      await workspace.action({ type: "write_file", payload: { path }, session: "bench", turn: `turn-${n >> 4}` }, () =>
        writeFileSync(join(tree, path), text),
      );
      changed += text.length;
    }
    lastMs = (performance.now() - started) / (ACTIONS / PARTS);
    const now = diskUse(home);
    growth.push(now - size);
    size = now;
    say(`${(part + 1) * (ACTIONS / PARTS)} actions`);
  }
  return { changed, growth, lastMs };
}

const pathOf = (file: number): string => `src/part-${file % 10}/file-${file}.ts`;

/** A file's text, with one line that depends on `n`. */
function content(file: number, n: number): string {
  const lines = Array.from(
    { length: LINES },
    (_, i) => `export const value${i} = "${(file * 7919 + i * 104_729).toString(36)}";`,
  );
  lines[n % LINES] = `export const changed = ${n};`;
  return `${lines.join("\n")}\n`;
}

/** Writes the files; returns their bytes. */
function manyFiles(tree: string): number {
  let bytes = 0;
  for (let file = 0; file < FILES; file++) {
    const text = content(file, 0);
    mkdirSync(join(tree, `src/part-${file % 10}`), { recursive: true });
    writeFileSync(join(tree, pathOf(file)), text);
    bytes += text.length;
  }
  return bytes;
}

/** Bytes that the disk gives to everything in a folder. */
function diskUse(folder: string): number {
  const du = spawnSync("du", ["-s", "--block-size=1", folder], { encoding: "utf8" });
  if (du.status !== 0) throw new Error(`du failed: ${du.stderr}`);
  return Number.parseInt(du.stdout, 10);
}
