import { posix } from "node:path";
import { ChronicleError } from "../values/errors.ts";
import { sweepsName, type NameSweep } from "../filter/name-sweep.ts";
import { MAX_PATH_BYTES, parsePath, pathInRoot, type WorkspacePath } from "../values/path.ts";
import { placeOfRoot } from "../tree/root-place.ts";
import { shellPaths } from "../shell/shell-paths.ts";

/** The fields of a tool's payload that name the paths which the tool will touch. */
export interface TargetPayload {
  readonly path?: string;
  readonly source?: string;
  readonly destination?: string;
  readonly command?: string;
  readonly cwd?: string;
  readonly paths?: readonly string[];
}

/** The folders from which relative paths and `~` are resolved. */
export interface TargetFolders {
  /**
   * The roots of the workspace, such as the `roots` of a worktree. The workspace's first root must be the first in the
   * list.
   */
  readonly roots: readonly TargetRoot[];
  /** The folder for which `~` stands in a command. */
  readonly home?: string | undefined;
}

/**
 * A root: its id (`undefined` for the first root) and its absolute folder. If only one name in the folder is tracked,
 * `only` is that name.
 */
export interface TargetRoot {
  readonly id: string | undefined;
  readonly folder: string;
  readonly only?: string;
}

/** The paths that a tool is about to touch. The kind `none` is for a tool that only reads. */
export type ActionTargets =
  | { readonly kind: "none" }
  | {
      /**
       * `paths`: the tool touches only the paths in `paths` and `outside`. `workspace`: the tool may also touch other
       * paths.
       */
      readonly kind: "paths" | "workspace";
      readonly paths: readonly WorkspacePath[];
      /** Absolute, normalised paths that are in no root. */
      readonly outside: readonly string[];
      /** The paths in `outside` beneath which the tool may touch everything. */
      readonly outsideDeep: readonly string[];
      /** Names in a root that the tool may touch even if the filter excludes them. Omitted if there are none. */
      readonly swept?: readonly Sweep[];
    };

/** Names that a tool may touch in one root. */
export interface Sweep extends NameSweep {
  /** The id of the root; `undefined` for the first root. */
  readonly root: string | undefined;
}

const READS: ReadonlySet<string> = new Set(["read_file", "list_directory", "search_files"]);

type Field = "path" | "source" | "destination";

/**
 * Maps each type of tool whose payload names all touched paths to the fields with these paths. `deep` is true if the
 * tool also touches everything beneath these paths.
 */
const TYPES: ReadonlyMap<string, { readonly fields: readonly Field[]; readonly deep: boolean }> = new Map([
  ["write_file", { fields: ["path"] as const, deep: false }],
  ["delete_file", { fields: ["path"] as const, deep: false }],
  ["create_directory", { fields: ["path"] as const, deep: false }],
  ["delete_directory", { fields: ["path"] as const, deep: true }],
  ["move_file", { fields: ["source", "destination"] as const, deep: false }],
  ["copy_file", { fields: ["destination"] as const, deep: false }],
  ["move_directory", { fields: ["source", "destination"] as const, deep: true }],
  // Chronicle itself uses this type when it restores paths outside of the workspace.
  ["restore_outside", { fields: [] as const, deep: true }],
]);

/**
 * Maps a field to the field in which some tools pass its value instead. Some tools pass the source of a move as `path`.
 */
const OTHER_NAMES: Readonly<Partial<Record<Field, Field>>> = { source: "path" };

/**
 * Returns the paths that a tool is about to touch, from its type and payload alone. In a payload of `run_command`,
 * relative paths are resolved from the command's working directory. All other relative paths are resolved from the
 * first root. `..` is resolved textually, so links are not followed. Throws `PATH_INVALID` for a path that no file can
 * have, and `USAGE` if the payload lacks a field that the type needs.
 */
export function actionTargets(type: string, payload: TargetPayload, folders: TargetFolders): ActionTargets {
  if (READS.has(type)) return { kind: "none" };
  const sorted = new Sorter(folders);
  const known = TYPES.get(type);
  if (type === "run_command") addCommand(sorted, payload, folders);
  else if (known === undefined) addAll(sorted, payload);
  else addFields(sorted, { type, payload, ...known });
  const scope = known === undefined || sorted.wholeWorkspace ? "workspace" : "paths";
  return { kind: scope, ...sorted.result };
}

/**
 * Returns the source and the destination of a tool that moves something, as given in the payload. Returns `undefined`
 * for a command, and for a payload that lacks one of the paths. Also returns `undefined` for a tool that does not touch
 * both paths. For example, a copy only reads its source.
 */
export function movedFields(type: string, payload: TargetPayload): readonly [from: string, to: string] | undefined {
  const known = TYPES.get(type);
  if (type === "run_command" || known?.fields.includes("source") === false) return undefined;
  const from = known === undefined ? payload.source : givenIn(payload, "source");
  const to = payload.destination;
  return from === undefined || from === "" || to === undefined || to === "" ? undefined : [from, to];
}

function givenIn(payload: TargetPayload, field: Field): string | undefined {
  const other = OTHER_NAMES[field];
  return payload[field] ?? (other === undefined ? undefined : payload[other]);
}

function addCommand(sorted: Sorter, payload: TargetPayload, folders: TargetFolders): void {
  const base = sorted.base;
  const cwd = payload.cwd === undefined || payload.cwd === "" ? base : absolute(payload.cwd, base);
  for (const one of shellPaths(payload.command ?? "", { cwd, home: folders.home })) sorted.addForecast(one);
  for (const path of payload.paths ?? []) sorted.add(absolute(path, cwd), false);
}

function addAll(sorted: Sorter, payload: TargetPayload): void {
  const named = [payload.path, payload.source, payload.destination, ...(payload.paths ?? [])];
  for (const path of named) if (path !== undefined && path !== "") sorted.add(absolute(path, sorted.base), false);
}

interface Fields {
  readonly type: string;
  readonly payload: TargetPayload;
  readonly fields: readonly Field[];
  readonly deep: boolean;
}

function addFields(sorted: Sorter, { type, payload, fields, deep }: Fields): void {
  const several = payload.paths ?? [];
  for (const path of several) sorted.add(absolute(path, sorted.base), deep);
  for (const field of fields) {
    const given = givenIn(payload, field);
    if (given !== undefined) sorted.add(absolute(given, sorted.base), deep);
    else if (several.length === 0) throw lacks(type, field);
  }
}

function lacks(type: string, field: Field): ChronicleError {
  return new ChronicleError("USAGE", `the payload of ${type} lacks ${JSON.stringify(field)}`, {
    hint: `give {"${field}": "a path"}: relative to the workspace's root, or absolute`,
    data: { type, field },
  });
}

/** An absolute path that may be touched. If `deep` is true, everything beneath the path may be touched, too. */
export interface Target {
  readonly path: string;
  readonly deep: boolean;
  /**
   * Only for a deep target: the names beneath the path that may be touched even if the filter excludes them. By
   * default, these are all names. For a path that was forecast from a command, the default is no names.
   */
  readonly sweeps?: readonly NameSweep[];
}

/**
 * Sorts targets into paths of the workspace and paths outside of it. `wholeWorkspace` is true if one of the targets is
 * a root, or if a deep target contains a root.
 */
export function sortTargets(
  targets: readonly Target[],
  folders: TargetFolders,
): Omit<Exclude<ActionTargets, { kind: "none" }>, "kind"> & { readonly wholeWorkspace: boolean } {
  const sorted = new Sorter(folders);
  for (const { path, deep, sweeps } of targets) sorted.add(path, deep, sweeps);
  return { ...sorted.result, wholeWorkspace: sorted.wholeWorkspace };
}

class Sorter {
  readonly #paths = new Set<WorkspacePath>();
  readonly #outside = new Map<string, boolean>();
  readonly #swept: Sweep[] = [];
  readonly #roots: TargetFolders["roots"];
  readonly base: string;
  /**
   * True once a root, or a deep target that contains a root, was added. A tool with such a target may touch the whole
   * workspace.
   */
  wholeWorkspace = false;

  constructor(folders: TargetFolders) {
    // The longest folder comes first, because a path in several roots belongs to the innermost of them.
    this.#roots = folders.roots.toSorted((a, b) => b.folder.length - a.folder.length);
    this.base = folders.roots[0]?.folder ?? "/";
  }

  get result(): Omit<Exclude<ActionTargets, { kind: "none" }>, "kind"> {
    const outside = [...this.#outside.keys()];
    return {
      paths: [...this.#paths],
      outside,
      outsideDeep: outside.filter((path) => this.#outside.get(path)),
      ...(this.#swept.length === 0 ? {} : { swept: this.#swept }),
    };
  }

  /** Adds a path that was forecast from a command. Ignores a path that no file can have. */
  addForecast({ path, deep, sweeps }: Target): void {
    if (isPossible(path)) this.add(path, deep, sweeps ?? []);
  }

  add(path: string, deep: boolean, sweeps: readonly NameSweep[] = [{ deep: true }]): void {
    for (const root of this.#roots) {
      const { id, folder, only } = root;
      const place = placeOfRoot(root);
      const within = deep ? pathBeneath(place, path) : undefined;
      if (within !== undefined && (only === undefined || within !== "")) {
        this.wholeWorkspace = true;
        const swept = only === undefined ? sweepsWithin(within, sweeps) : [];
        for (const one of swept) this.#swept.push({ ...one, root: id });
      }
      if (pathBeneath(path, place) === undefined) continue;
      const inner = pathBeneath(path, folder) ?? "";
      if (inner === "") this.wholeWorkspace = true;
      else this.#paths.add(pathInRoot(id, parsePath(inner)));
      return;
    }
    this.#outside.set(path, deep || this.#outside.get(path) === true);
  }
}

/**
 * Returns the sweeps that apply within a root. `sweeps`: the sweeps of a folder that is the root or contains the root.
 * `beneath`: the path of the root within that folder; `""` if the root is the folder.
 */
function sweepsWithin(beneath: string, sweeps: readonly NameSweep[]): NameSweep[] {
  if (beneath === "") return [...sweeps];
  const [top = ""] = beneath.split("/");
  return sweeps.some((one) => one.deep && sweepsName(one, top)) ? [{ deep: true }] : [];
}

/** Returns the path relative to a folder: `""` for the folder itself, `undefined` for a path outside of the folder. */
function pathBeneath(path: string, folder: string): string | undefined {
  if (path === folder) return "";
  if (folder === "/") return path.slice(1);
  return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : undefined;
}

function isPossible(path: string): boolean {
  return path.isWellFormed() && !path.includes("\0") && Buffer.byteLength(path) <= MAX_PATH_BYTES;
}

/**
 * Makes a path absolute and normalised. Resolves a relative path from `base`, and resolves `.` and `..` textually.
 * Throws `PATH_INVALID` for a path that no file can have.
 */
function absolute(given: string, base: string): string {
  if (typeof given !== "string" || given === "" || !isPossible(given)) {
    const shown = String(given).slice(0, 200).toWellFormed();
    throw new ChronicleError("PATH_INVALID", `path ${JSON.stringify(shown)} is refused: no file can have this path`, {
      hint: "give a path relative to the workspace's root, or an absolute one",
      data: { path: shown },
    });
  }
  return posix.resolve("/", base, given);
}
