import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CorpusName } from "./options.ts";

/** The packages of the corpora: big, well-known and pinned. */
const SMALL = ["lodash@4.17.21", "rxjs@7.8.1", "core-js@3.37.1", "typescript@5.4.5"];
const MEDIUM = [
  ...SMALL,
  "@fluentui/react@8.118.1",
  "@mui/material@5.15.18",
  "@tabler/icons@3.4.0",
  "@types/node@20.12.12",
  "antd@5.17.3",
  "aws-sdk@2.1623.0",
  "date-fns@3.6.0",
  "eslint@8.57.0",
  "firebase@10.12.0",
  "googleapis@137.1.0",
  "monaco-editor@0.48.0",
  "next@14.2.3",
  "prettier@3.2.5",
  "three@0.164.1",
  "vue@3.4.27",
  "webpack@5.91.0",
];

/** L holds M this many times, each copy with other contents. */
const LARGE_COPIES = 4;

const CACHE = join(import.meta.dirname, "../.cache");

/**
 * The folder of a corpus, made at first use and kept in `bench/.cache`. Its content depends on nothing but the pinned
 * list. It is finished or absent: it gets its name when it is whole.
 */
export function corpusFolder(name: CorpusName): string {
  const folder = join(CACHE, `corpus-${name}`);
  if (existsSync(folder)) return folder;
  const unfinished = `${folder}.${process.pid}.unfinished`;
  mkdirSync(unfinished, { recursive: true });
  if (name === "L") copies(unfinished);
  else for (const spec of name === "S" ? SMALL : MEDIUM) unpack(tarball(spec), join(unfinished, folderOf(spec)));
  renameSync(unfinished, folder);
  return folder;
}

/** The folder that everything cached lies in. */
export function cacheFolder(): string {
  mkdirSync(CACHE, { recursive: true });
  return CACHE;
}

const folderOf = (spec: string) => spec.replace(/^@/, "").replace("/", "-");

/** Fetches a package as npm would, once. */
function tarball(spec: string): string {
  const folder = join(CACHE, "tarballs");
  const file = join(
    folder,
    `${spec
      .replace(/^@/, "")
      .replace("/", "-")
      .replace(/@([^@]*)$/, "-$1")}.tgz`,
  );
  if (existsSync(file)) return file;
  mkdirSync(folder, { recursive: true });
  run("npm", ["pack", "--silent", "--pack-destination", folder, spec], CACHE);
  if (!existsSync(file)) throw new Error(`npm pack ${spec} did not make ${file}`);
  return file;
}

function unpack(file: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  // Some packages hold folders without the x bit, and times before 1980 that no tool likes.
  run("tar", ["xzf", file, "--strip-components=1", "--no-same-owner", "--touch", "-C", folder], CACHE);
  run("chmod", ["-R", "u+rwX", folder], CACHE);
}

/** Fills a folder with M several times; one line more in each file of a copy makes its content a new one. */
function copies(folder: string): void {
  const source = corpusFolder("M");
  for (let copy = 1; copy <= LARGE_COPIES; copy++) {
    const target = join(folder, `copy-${copy}`);
    run("cp", ["-a", source, target], CACHE);
    if (copy > 1) mark(target, `\n// copy ${copy}\n`);
  }
}

function mark(folder: string, line: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (entry.isFile()) appendFileSync(join(entry.parentPath, entry.name), line);
  }
}

/** Makes a file of this many bytes that does not compress, from a seed: the same bytes each time. */
export function bigFile(path: string, bytes: number): void {
  const key = "0".repeat(64);
  const made = spawnSync("sh", [
    "-c",
    `head -c ${bytes} /dev/zero | openssl enc -aes-256-ctr -K ${key} -iv ${key.slice(32)} > "$1"`,
    "sh",
    path,
  ]);
  if (made.status === 0) return;
  throw new Error(`could not make ${path} (openssl is needed): ${String(made.stderr)}`);
}

/** Writes the few files of a small project: for benches where the size of the workspace does not matter. */
export function smallProject(folder: string): void {
  for (let i = 0; i < 40; i++) {
    const at = join(folder, "src", `part-${i % 5}`);
    mkdirSync(at, { recursive: true });
    writeFileSync(join(at, `file-${i}.ts`), `export const value${i} = ${i};\n`.repeat(1 + i));
  }
}

function run(program: string, args: readonly string[], cwd: string): void {
  const made = spawnSync(program, args, { cwd, encoding: "utf8" });
  if (made.error) throw made.error;
  if (made.status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${made.status}: ${made.stderr}`);
}
