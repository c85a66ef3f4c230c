import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { baseEnv } from "./command.ts";
import type { CorpusName } from "./options.ts";

/** The packages of corpus S, in pinned versions. Those of M are in `MEDIUM`. */
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

/** The commits of R, oldest first. Each is a version of one package, with the SHA-256 of the fetched archive. */
const HISTORY: readonly (readonly [spec: string, sha256: string])[] = [
  ["rxjs@7.0.0", "c813a1178c4aea69000c9d71144f51d61d30c7d44c132222fba9c28a30691696"],
  ["rxjs@7.0.1", "5e6636331aee66c57e1cdb65c2a08e504e44762a3bdc187c63a61afe2606a01e"],
  ["rxjs@7.1.0", "a6e6a2a39e310fbcc09798d794d6a5172cdd7747c17b6d5aafd7bd65c5926e4b"],
  ["rxjs@7.2.0", "cc3601d896eae0bc7281804c6ad080150a008d5b0e78b4efd3bfff0b26a64244"],
  ["rxjs@7.3.0", "98573b62a091f35f9c0a888bea3c55d1acc65ff3e28e663e3a511d6569a3d0fb"],
  ["rxjs@7.3.1", "9f267cfeb4fe4dcc836d1f55b008676a4e6d18f44773c81b2ec2115cf93e231d"],
  ["rxjs@7.4.0", "34a685fcd9cd450bec972c68bffd3479e71b3ccad06c9755a644c78c98bae220"],
  ["rxjs@7.5.0", "324df4b69fdd7c26385f009cc91aee31926aa0bcf55f87dbcb103a12e972f988"],
  ["rxjs@7.5.1", "669d9e4938d10f58264191d2464c19eef5217d6c462698a7b240b34613614c5e"],
  ["rxjs@7.5.2", "653bc5f42bdd262d9f45232a817b6ff0c025dc6f7a3328dad3b0589a6e0d8128"],
  ["rxjs@7.5.3", "d6f36c9214caa4845c77926850a09b4f58612fd0156e87cf994ee4cf0e4189bd"],
  ["rxjs@7.5.4", "a6b3a844e192888d0372c230648f726be532bf272032dfdd291c3d06c7457405"],
  ["rxjs@7.5.5", "6ea0cb0acafd4e2603bc2cdef605bb4d8929dab7b532188e0eaf27707bd78f77"],
  ["rxjs@7.5.6", "1df7c4993feb6f8b610dc4df9cc5df19983afbee2f981d1afd2472bda4953004"],
  ["rxjs@7.5.7", "c48055fbd8bf0734be2f07f4405170486951b65f269656c36f06e65943746ae6"],
  ["rxjs@7.6.0", "6beafa9444e0496de2addc02ba04c42d700b4f416671bb36794ef5709e387e28"],
  ["rxjs@7.7.0", "4344d998175914858c1230b807f6c71ab9a2fe1d030b770cf0632e7f03cb042b"],
  ["rxjs@7.8.0", "693b37ffcde839f6026c822b66bfac187c10673c89c4325f32c61eefedb15480"],
  ["rxjs@7.8.1", "c532167725ab7d085123209156c93cef22f2479cb9c8527060f1cd903aa9d149"],
  ["rxjs@7.8.2", "2312f8ffd9726ffd7bd53ea12c5f13663d09a3dc3326f448c70b88f5ef6fac82"],
];

/** The number of copies of M in L. Each copy has other contents. */
const LARGE_COPIES = 4;

const CACHE = join(import.meta.dirname, "../.cache");

/**
 * The environment in which the bench was started, for npm. The bench later deletes `NODE_EXTRA_CA_CERTS` from its own
 * environment, because this variable would slow down the measured programs. Behind a proxy, npm may need the variable.
 */
const OWN_ENV = { ...process.env };

/**
 * Returns the folder of a corpus, in `bench/.cache`. Makes the corpus at the first call; this needs the npm registry.
 * The content depends only on the pinned lists. A corpus gets its name when it is complete, so that an interrupted call
 * leaves no incomplete corpus.
 */
export function corpusFolder(name: CorpusName): string {
  const folder = join(CACHE, `corpus-${name}`);
  if (existsSync(folder)) return folder;
  const earlier = failures.get(name);
  if (earlier !== undefined) throw earlier;
  const unfinished = `${folder}.${process.pid}.unfinished`;
  try {
    fill(unfinished, name);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    const failure = new Error(`corpus ${name} cannot be made. Its packages come from the npm registry`, {
      cause: error,
    });
    failures.set(name, failure);
    throw failure;
  }
  renameSync(unfinished, folder);
  return folder;
}

/** The failures by corpus. A corpus that cannot be made is not tried again, because each try takes a minute. */
const failures = new Map<CorpusName, Error>();

function fill(folder: string, name: CorpusName): void {
  mkdirSync(folder, { recursive: true });
  if (name === "L") copies(folder);
  else if (name === "R") commits(folder);
  else for (const spec of name === "S" ? SMALL : MEDIUM) unpack(tarball(spec), join(folder, folderOf(spec)));
}

/** Returns the folder of the cache. Makes it if it does not exist. */
export function cacheFolder(): string {
  mkdirSync(CACHE, { recursive: true });
  return CACHE;
}

const folderOf = (spec: string) => spec.replace(/^@/, "").replace("/", "-");

/** Returns the path of a package's archive. Fetches it with `npm pack` if it is not in the cache. */
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
  run("npm", ["pack", "--silent", "--pack-destination", folder, spec], CACHE, OWN_ENV);
  if (!existsSync(file)) throw new Error(`npm pack ${spec} did not make ${file}`);
  return file;
}

function unpack(file: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  // Some archives have folders without the x bit, which `chmod` adds. Some have times before 1980, which no tool
  // handles well and which `--touch` ignores.
  run("tar", ["xzf", file, "--strip-components=1", "--no-same-owner", "--touch", "-C", folder], CACHE);
  run("chmod", ["-R", "u+rwX", folder], CACHE);
}

/**
 * Fills a folder with copies of M. In each copy but the first, every file has one more line, which makes its content
 * new.
 */
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

/** Makes a git repository with one commit for each entry of `HISTORY`. The last commit is checked out. */
function commits(folder: string): void {
  const git = (args: readonly string[], date = 0): void => {
    run("git", args, folder, { ...baseEnv(CACHE), ...identityOn(date) });
  };
  git(["init", "-q", "-b", "main"]);
  for (const [at, [spec, sha256]] of HISTORY.entries()) {
    for (const name of readdirSync(folder)) if (name !== ".git") rmSync(join(folder, name), { recursive: true });
    unpack(pinned(tarball(spec), sha256), folder);
    git(["add", "-A"]);
    git(["commit", "-q", "-m", spec], at);
  }
  // The result is one pack, as in a clone.
  git(["gc", "-q", "--prune=now"]);
}

/**
 * Returns the variables with which git makes the same commits each time. They replace the user's settings, and set the
 * date: successive commits are one day apart.
 */
function identityOn(day: number): Record<string, string> {
  const date = `${Date.UTC(2026, 0, 1 + day) / 1000} +0000`;
  const who = { GIT_AUTHOR_NAME: "bench", GIT_COMMITTER_NAME: "bench" };
  const where = { GIT_AUTHOR_EMAIL: "bench@example.com", GIT_COMMITTER_EMAIL: "bench@example.com" };
  const settings = { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  return { ...who, ...where, ...settings, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date };
}

/** Returns `file`. Throws if its content does not have this SHA-256. */
function pinned(file: string, sha256: string): string {
  const found = createHash("sha256").update(readFileSync(file)).digest("hex");
  if (found !== sha256) throw new Error(`${file} has the SHA-256 ${found} instead of ${sha256}`);
  return file;
}

/**
 * Makes a file of `bytes` bytes that does not compress. The bytes are the same each time, because the key is fixed.
 * Throws if openssl is not installed.
 */
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

/** Writes the 40 files of a small project, for benches that do not depend on the size of the workspace. */
export function smallProject(folder: string): void {
  for (let i = 0; i < 40; i++) {
    const at = join(folder, "src", `part-${i % 5}`);
    mkdirSync(at, { recursive: true });
    writeFileSync(join(at, `file-${i}.ts`), `export const value${i} = ${i};\n`.repeat(1 + i));
  }
}

function run(program: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = process.env): void {
  const made = spawnSync(program, args, { cwd, env, encoding: "utf8" });
  if (made.error) throw made.error;
  if (made.status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${made.status}: ${made.stderr}`);
}
