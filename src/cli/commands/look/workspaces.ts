import { EXIT } from "../../../api/problems.ts";
import type { WorkspaceShape } from "../../../api/shapes.ts";
import type { CreateOptions, StoreApi } from "../../../api/store-api.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import type { CommandContext } from "../../support/context.ts";
import { inLocalZone } from "../../../process/local-zone.ts";
import { columns } from "../../render/columns.ts";
import { printable } from "../../../process/printable.ts";
import { ago } from "../../render/words.ts";
import { usageError } from "../../../process/usage-error.ts";

type Verb = (context: CommandContext, workspace: string | undefined) => Promise<number>;

/** The index of the column with the workspaces' names. `list` leaves this column out if no workspace has a name. */
const NAME_COLUMN = 3;

const VERBS: Readonly<Record<string, Verb>> = {
  list,
  create,
  archive: (context, workspace) => archive(context, workspace, true),
  unarchive: (context, workspace) => archive(context, workspace, false),
};

export async function workspaces(context: CommandContext): Promise<number> {
  const [what = "list", workspace] = context.input.args;
  const verb = Object.hasOwn(VERBS, what) ? VERBS[what] : undefined;
  if (verb === undefined) {
    const known = Object.keys(VERBS).join(", ");
    throw usageError(`chronicle workspaces does not know '${printable(what)}'`, `one of: ${known}`);
  }
  if (verb === list && workspace !== undefined)
    throw usageError("workspaces list takes no argument", "see: chronicle workspaces -h");
  if (verb !== create && context.input.text("from") !== undefined)
    throw usageError("--from goes with create", "chronicle workspaces create [name] --from <workspace[@moment]>");
  return verb(context, workspace);
}

function labels(
  { paint }: CommandContext,
  item: WorkspaceShape,
  noFolder: string,
): [name: string, place: string, matter: string] {
  const named = item.name === undefined ? "" : printable(item.name);
  const place = item.path === "" ? paint("dim", noFolder) : printable(item.path);
  const matter = [
    item.archived === true ? paint("dim", "(archived)") : "",
    item.present ? "" : paint("yellow", "(the folder is gone, or another is there)"),
    item.problem === undefined ? "" : paint("red", `(cannot be opened: ${printable(item.problem)})`),
  ]
    .filter((part) => part !== "")
    .join("  ");
  return [named, place, matter];
}

async function list(context: CommandContext): Promise<number> {
  const store = await context.store();
  const all = await store.workspaces();
  if (context.json) {
    context.printJson(all);
    return EXIT.done;
  }
  const { paint, io } = context;
  const noFolder = await context.noFolderText();
  const rows = all.map((item) => [
    paint("dim", item.id),
    ago(item.last_event ?? item.created, io.now()),
    `seq ${item.seq}`,
    ...labels(context, item, noFolder),
  ]);
  const isNamed = all.some((item) => item.name !== undefined);
  const shown = isNamed ? rows : rows.map((row) => row.toSpliced(NAME_COLUMN, 1));
  for (const line of columns(shown, "<<>")) context.print(line);
  if (rows.length === 0) context.say(`no workspaces in ${printable(store.home)}`);
  return EXIT.done;
}

async function create(context: CommandContext, name: string | undefined): Promise<number> {
  const store = await context.store();
  const from = context.input.text("from");
  const { workspace, result } = await begin(store, name, from);
  context.closing(workspace);
  if (context.json) context.printJson(result);
  else context.print(result.workspace);
  return EXIT.done;
}

type Begun = Awaited<ReturnType<StoreApi["create"]>>;

/**
 * Creates a workspace. If `from` is given, the workspace is a fork. `from` is first tried as the name or id of a
 * workspace, because a name may contain `@`. If there is no such workspace, the part after the last `@` is the moment.
 */
async function begin(store: StoreApi, name: string | undefined, from: string | undefined): Promise<Begun> {
  const named: CreateOptions = name === undefined ? {} : { name };
  if (from === undefined) return store.create(named);
  const at = from.lastIndexOf("@");
  try {
    return await store.create({ ...named, from: { workspace: from } });
  } catch (error) {
    if (at < 1 || !(error instanceof ChronicleError) || error.code !== "NOT_FOUND") throw error;
    return store.create({ ...named, from: { workspace: from.slice(0, at), moment: inLocalZone(from.slice(at + 1)) } });
  }
}

async function archive(context: CommandContext, workspace: string | undefined, archived: boolean): Promise<number> {
  const verb = archived ? "archive" : "unarchive";
  if (workspace === undefined)
    throw usageError(`workspaces ${verb} takes a workspace`, `chronicle workspaces ${verb} <name or id>`);
  const store = await context.store();
  const shape = await store.archive(workspace, archived);
  if (context.json) context.printJson(shape);
  else {
    const how = archived ? "archived, and can only be read from now on" : "unarchived, and can be changed again";
    const shown = labels(context, shape, await context.noFolderText());
    context.print(`${how}: ${shown.filter(Boolean).join("  ")} ${context.paint("dim", shape.id)}`);
  }
  return EXIT.done;
}
