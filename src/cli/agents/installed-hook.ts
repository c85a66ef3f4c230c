import { basename, join } from "node:path";
import { NodeDisk } from "../../disk/node-disk.ts";
import { writeFileDurably } from "../../disk/write-fully.ts";
import { hookImagePath } from "../../daemon/hook-image.ts";
import { hookEntryPath, launcherPath } from "../../daemon/program-paths.ts";
import type { Io } from "../../process/io.ts";
import { readTextIfThere } from "../../process/user-files.ts";
import type { Wanted } from "./agent-config.ts";
import { hookScript, shellWord } from "./hook-script.ts";

/** The folders of a store. */
export interface HookPlaces {
  readonly home: string;
  readonly configFolder: string;
}

/** Returns the installed hook's path. */
export function hookScriptPath({ configFolder }: HookPlaces): string {
  return join(configFolder, "bin", "chronicle-hook");
}

/** Writes the hook that agents run, unless it is current. Returns its path. */
export function writeHookScript(io: Io, places: HookPlaces): string {
  const path = hookScriptPath(places);
  if (isHookCurrent(io, places)) return path;
  const text = hookText(io, places);
  const disk = new NodeDisk();
  for (const folder of [places.configFolder, join(places.configFolder, "bin")]) makeFolder(disk, folder);
  writeFileDurably(disk, path, Buffer.from(text), { mode: 0o755, mark: `.${process.pid}` });
  return path;
}

/** True if the hook exists and is current. */
export function isHookCurrent(io: Io, places: HookPlaces): boolean {
  const path = hookScriptPath(places);
  return readTextIfThere(path) === hookText(io, places) && new NodeDisk().lstat(path)?.mode === 0o755;
}

/** Returns the text that the installed hook should have. */
export function hookText(io: Io, { home }: HookPlaces): string {
  const configHome = io.env["XDG_CONFIG_HOME"];
  const image = basename(hookImagePath(home));
  return hookScript({ home, node: process.execPath, entry: hookEntryPath(), image, version: io.version, configHome });
}

/** Returns the command lines for an agent's configuration. */
export function wantedFor(agent: string, places: HookPlaces & { readonly strict: boolean }): Wanted {
  const script = shellWord(hookScriptPath(places));
  // A missing hook exits with 127, which Gemini CLI takes as a refusal. All agents take 1 as a warning.
  const hook = `${script} ${agent} || exit 1`;
  // With `--strict`, a missing hook must not let the tool run either: the shell alone decides that.
  const hookBefore = places.strict ? `${script} ${agent} --strict || exit 2` : hook;
  return { hook, hookBefore, mcp: [process.execPath, launcherPath(), "--store", places.home, "mcp"] };
}

function makeFolder(disk: NodeDisk, folder: string): void {
  if (disk.lstat(folder) !== undefined) return;
  makeFolder(disk, join(folder, ".."));
  disk.makeFolder(folder, 0o700);
}
