import { EXIT } from "../../../api/problems.ts";
import type { SigningShape, ConfigShape } from "../../../api/shapes.ts";
import type { InitShape } from "../../../api/store-api.ts";
import type { CommandContext } from "../../support/context.ts";
import type { Input } from "../../../process/input.ts";
import { writtenPath } from "../../support/written-path.ts";
import { repositoryLines } from "../../support/new-history.ts";
import { coverageLines } from "../../render/changes.ts";
import { printable } from "../../../process/printable.ts";
import { secretsLine } from "../../render/secrets.ts";
import { usageError } from "../../../process/usage-error.ts";
import { optional } from "../../../util/optional.ts";

/** Only what was given: the rest is the workspace's own, or the default. */
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
  readonly changed: readonly string[];
  /** Of the history that was there already: is what is recorded signed, and is anything recorded? */
  readonly signing: SigningShape | undefined;
}

/** How a history that was there already is told. */
function standingOf({ state }: SigningShape): string {
  if (state === "read-only") return "NOT recorded";
  return state === "signed" ? "already protected" : "recorded, but not signed";
}

function printResult(context: CommandContext, { result, changed, signing }: Began): void {
  const { paint } = context;
  const where = `${printable(result.path)}  ${paint("dim", result.workspace)}`;
  if (signing !== undefined) {
    context.print(`${standingOf(signing)}: ${where}`);
    const { detail, hint, state } = signing;
    for (const line of state === "read-only" ? [detail, hint] : [])
      if (line !== null) context.print(`  ${context.worded(printable(line))}`);
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

export async function init(context: CommandContext): Promise<number> {
  const { input, io } = context;
  const adopt = input.text("adopt");
  if (input.text("workspace") !== undefined)
    throw usageError("init begins a history in a folder", "for one without: chronicle workspaces create [name]");
  const config = chosenConfig(input);
  const store = await context.store();
  const { workspace, result } = await store.init({
    roots: (input.args.length === 0 ? ["."] : input.args).map((path) => typedPath(() => io.cwd(), "the path", path)),
    ...config,
    ...optional({ adopt }),
    force: input.flag("force"),
    ...context.progress(),
  });
  context.closing(workspace);
  // A workspace that stood already keeps its own options, except for what was asked for now.
  if (!result.created && Object.keys(config).length > 0) await workspace.configure(config);
  const signing = result.created ? undefined : await workspace.signing();
  if (context.json) context.printJson(result);
  else {
    printResult(context, { result, changed: Object.keys(config), signing });
    if (result.created) for (const line of repositoryLines(result.path, io)) context.say(line);
  }
  if (signing?.state === "read-only") return EXIT.damaged;
  return result.snapshot.coverage.complete || !result.created ? EXIT.done : EXIT.failed;
}
