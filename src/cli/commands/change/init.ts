import { EXIT } from "../../../api/problems.ts";
import type { ConfigShape, SigningShape } from "../../../api/shapes.ts";
import type { InitShape, StoreApi } from "../../../api/store-api.ts";
import type { CommandContext } from "../../support/context.ts";
import type { Input } from "../../../process/input.ts";
import { writtenPath } from "../../support/written-path.ts";
import { surroundingLines } from "../../support/new-history.ts";
import { coverageLines } from "../../render/changes.ts";
import { printable } from "../../../process/printable.ts";
import { secretsLine } from "../../render/secrets.ts";
import { usageError } from "../../../process/usage-error.ts";
import { optional } from "../../../util/optional.ts";

/**
 * Returns the settings that the options give. All other settings keep their values; in a new workspace, they get the
 * defaults.
 */
function chosenConfig(input: Input): Partial<ConfigShape> {
  const config: Partial<ConfigShape> = {};
  if (!input.flag("gitignore")) config.useGitignore = false;
  const lists = { exclude: "excludePatterns", excludeGlob: "excludeGlobs", forceInclude: "forceInclude" } as const;
  for (const [option, key] of Object.entries(lists)) {
    const values = input.list(option);
    if (values.length > 0) config[key] = values;
  }
  for (const key of ["maxEntries", "maxBytes", "maxFileSize"] as const) {
    const value = input.number(key);
    if (value !== undefined) config[key] = value;
  }
  return config;
}

interface Began {
  readonly result: InitShape;
  /** The names of the settings that the options give, such as `maxBytes`. */
  readonly changed: readonly string[];
  /** The signing state of an existing history; `undefined` for a new history. */
  readonly signing: SigningShape | undefined;
  /** The tracked folder, or the one tracked file. */
  readonly place: string;
  /** The previous place, if the workspace existed before and its place has changed. */
  readonly from: string | undefined;
  /** True if `--adopt` is given. */
  readonly isAdopted: boolean;
}

function printResult(context: CommandContext, began: Began): void {
  const { paint } = context;
  const { result, changed } = began;
  const where = `${printable(began.place)}  ${paint("dim", result.workspace)}`;
  if (!result.created) {
    context.print(`${goesOn(began)}: ${where}`);
    const { detail = null, hint = null, state } = began.signing ?? {};
    for (const line of state === "read-only" ? [detail, hint] : [])
      if (line !== null) context.print(`  ${context.worded(printable(line))}`);
    for (const line of movedLines(began)) context.print(context.worded(line));
    if (changed.length > 0) context.print(`changed: ${changed.join(", ")}`);
    return;
  }
  const { snapshot } = result;
  context.print(`${paint("green", "protected:")} ${where}`);
  context.print(`snapshot ${snapshot.number}, root ${snapshot.root}`);
  const [first = "", ...rest] = coverageLines(snapshot.coverage, { paint, shown: printable, most: 20 });
  context.print(`coverage ${first}`);
  for (const line of rest) context.print(line);
  for (const line of secretsLine(result.protected, printable)) context.print(`secrets  ${line}`);
  context.print(paint("dim", context.worded("next: chronicle run -- <command>, or chronicle watch")));
}

function goesOn({ signing, isAdopted, from }: Began): string {
  if (signing?.state === "read-only") return "NOT recorded";
  if (signing?.state !== "signed") return "recorded, but not signed";
  return isAdopted && from !== undefined ? "moved here" : "already protected";
}

function movedLines({ result, place, from }: Began): string[] {
  // A workspace that had no folder until now, such as an imported one, has no previous place.
  if (from === undefined || from === "") return [];
  const status = `chronicle -w ${result.workspace} status`;
  return [
    `until now, this workspace was in ${printable(from)}, which is no longer recorded; ` +
      `to see how ${printable(place)} differs from the recorded state: ${status}`,
  ];
}

/** Returns the places of all workspaces, by the workspaces' ids. A place is a folder, or the one tracked file. */
async function placesNow(store: StoreApi): Promise<ReadonlyMap<string, string>> {
  return new Map((await store.workspaces()).map(({ id, path }) => [id, path]));
}

export async function init(context: CommandContext): Promise<number> {
  const { input, io } = context;
  const adopt = input.text("adopt");
  if (input.text("workspace") !== undefined)
    throw usageError(
      "init takes no -w: it begins a history in a folder",
      "to begin a history without a folder: chronicle workspaces create [name]",
    );
  const config = chosenConfig(input);
  const store = await context.store();
  const before = context.json ? undefined : await placesNow(store);
  const { workspace, result } = await store.init({
    roots: (input.args.length === 0 ? ["."] : input.args).map((path) => writtenPath(context, "the path", path)),
    ...config,
    ...optional({ adopt }),
    force: input.flag("force"),
    ...context.progress(),
  });
  context.closing(workspace);
  // `store.init` gives the settings only to a new workspace. An existing workspace gets the settings here.
  if (!result.created && Object.keys(config).length > 0) await workspace.configure(config);
  const signing = result.created ? undefined : await workspace.signing();
  if (context.json) context.printJson(result);
  else {
    const all = await store.workspaces();
    const place = all.find(({ id }) => id === result.workspace)?.path ?? result.path;
    const old = before?.get(result.workspace);
    const from = old === place ? undefined : old;
    const isAdopted = adopt !== undefined;
    printResult(context, { result, changed: Object.keys(config), signing, place, from, isAdopted });
    const lines = result.created ? surroundingLines(workspace, { io, all }) : [];
    for (const line of lines) context.say(line);
  }
  if (signing?.state === "read-only") return EXIT.damaged;
  return result.snapshot.coverage.complete || !result.created ? EXIT.done : EXIT.failed;
}
