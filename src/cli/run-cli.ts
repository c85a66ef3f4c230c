import { type Action, CommandContext } from "./support/context.ts";
import { EXIT } from "../api/problems.ts";
import { withSession } from "./support/agents-command.ts";
import { ChronicleError, errnoOf } from "../core/values/errors.ts";
import { COMMANDS } from "./table/command-table.ts";
import { LIST } from "./table/look.ts";
import { type CommandSpec, GLOBAL_OPTIONS } from "./table/spec.ts";
import { ROLE_VARIABLE } from "../core/values/agents-role.ts";
import { isUnattended, pagerOf } from "../process/pager.ts";
import { Input } from "../process/input.ts";
import type { Io } from "../process/io.ts";
import { inLocalZone } from "../process/local-zone.ts";
import { paintFor } from "../process/printable.ts";
import { type Parsed, parseCommandLine } from "./program.ts";
import { whyDirect } from "./resident/asks-resident.ts";
import { remoteOf, withRemoteHint } from "./remote/remote-address.ts";
import { reportError, type ReportStyle } from "./support/report-error.ts";
import { typedPath } from "../process/user-path.ts";

function argvBeforeDashes(argv: readonly string[]): readonly string[] {
  const at = argv.indexOf("--");
  return at < 0 ? argv : argv.slice(0, at);
}

/** Returns the name of the command in a command line that may be invalid: the first word that is no global option. */
function commandWord(words: readonly string[]): string | undefined {
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? "";
    if (!word.startsWith("-")) return word;
    const option = GLOBAL_OPTIONS.find(({ flags }) => flags.split(/[ ,]+/).includes(word));
    if (option?.flags.includes("<") === true) at += 1;
  }
  return undefined;
}

function changeFolder(io: Io, folder: string | undefined): void {
  if (folder === undefined) return;
  const to = typedPath(() => io.cwd(), "-C", folder);
  try {
    io.chdir(to);
  } catch (error) {
    const errno = errnoOf(error) ?? "unknown";
    throw new ChronicleError("NOT_FOUND", `cannot go to the folder ${folder}: ${errno}`, {
      hint: "-C takes an existing folder",
      data: { path: folder, errno },
      cause: error,
    });
  }
}

async function perform(action: Action, context: CommandContext): Promise<number> {
  let code: number;
  try {
    code = await action(context);
  } catch (error) {
    await context.closeQuietly();
    throw context.remote === undefined ? await withSession(error, context.io, context.input) : withRemoteHint(error);
  }
  await context.close();
  return code === EXIT.done && context.isUnsigned ? EXIT.failed : code;
}

function inputOf(parsed: Parsed, argv: readonly string[]): Input {
  const at = argv.indexOf("--");
  const dashed = at < 0 || parsed.spec?.passThrough === true ? 0 : argv.length - at - 1;
  const behind = Math.min(dashed, parsed.args.length);
  const before = parsed.args.length - behind;
  const args = parsed.args.map((arg, i) =>
    i < before && parsed.spec?.args[i]?.completes === "moment" ? inLocalZone(arg) : arg,
  );
  return new Input(parsed.options, args, behind);
}

/** In the store's process, throws `NeedsClient` if that process may not carry out the command. */
function refuseServed({ served, env }: Io, input: Input, command: string | undefined): void {
  const reason = served === undefined ? undefined : whyDirect(env, input, command);
  if (reason !== undefined) throw served?.needsClient(reason);
}

/**
 * Returns true if output that does not fit on the screen goes to a pager. An agent and a job (`CI`) get no pager even
 * on a terminal, because nobody is there to end the pager. For the same reason, there is no pager if stdin is no
 * terminal.
 */
function isPaged({ env, out, stdinIsTerminal }: Io, input: Input, spec: CommandSpec | undefined): boolean {
  const { paged = false } = spec ?? LIST;
  if (!paged || !out.isTerminal || !stdinIsTerminal || input.flag("json") || !input.flag("pager")) return false;
  if (isUnattended(env) || env[ROLE_VARIABLE] === "agent") return false;
  return pagerOf(env) !== undefined;
}

/** Runs the command line. Resolves to the exit code. Never rejects, because it reports errors. */
export async function runCli(io: Io): Promise<number> {
  const early = argvBeforeDashes(io.argv);
  let isRun = commandWord(early) === "run";
  let isBegun = false;
  let style: ReportStyle = {
    json: early.includes("--json"),
    jsonOnStderr: isRun,
    paint: paintFor(io.err.colours && !early.includes("--no-color")),
  };
  try {
    const parsed = parseCommandLine(io.argv, io.version, io.out);
    if (parsed === undefined) return EXIT.done;
    const input = inputOf(parsed, io.argv);
    isRun = parsed.spec?.name === "run";
    style = { ...style, json: input.flag("json"), jsonOnStderr: isRun };
    refuseServed(io, input, parsed.spec?.name);
    const paged = isPaged(io, input, parsed.spec);
    if (paged) io.page?.();
    const asked = { command: parsed.spec?.name, remote: remoteOf(io, input, parsed.spec), paged };
    const context = new CommandContext(io, input, COMMANDS, asked);
    style = { ...style, json: context.json, paint: context.paintErr, worded: context.worded };
    changeFolder(io, input.text("directory"));
    const action = await loadAction(parsed.spec?.name ?? "list");
    isBegun = true;
    return await perform(action, context);
  } catch (error) {
    const code = reportError(error, io, style);
    return isRun && !isBegun && code !== EXIT.usage ? EXIT.notStarted : code;
  }
}

type Loader = () => Promise<Action>;

/**
 * Maps the name of a command to the function that loads its code. The code is loaded only when the command is run, so
 * that a command line starts fast.
 */
const LOADERS: Readonly<Record<string, Loader>> = {
  actions: async () => (await import("./commands/look/sessions.ts")).actions,
  agents: async () => (await import("./commands/serve/agents.ts")).agents,
  bisect: async () => (await import("./commands/look/bisect.ts")).bisect,
  blame: async () => (await import("./commands/look/blame.ts")).blame,
  cat: async () => (await import("./commands/look/files.ts")).cat,
  changes: async () => (await import("./commands/look/diff.ts")).changes,
  compact: async () => (await import("./commands/keep/upkeep.ts")).compact,
  complete: async () => (await import("./commands/serve/complete.ts")).complete,
  completion: async () => (await import("./commands/serve/complete.ts")).completion,
  conflicts: async () => (await import("./commands/look/versions.ts")).conflicts,
  config: async () => (await import("./commands/keep/config.ts")).config,
  diff: async () => (await import("./commands/look/diff.ts")).diff,
  doctor: async () => (await import("./commands/look/doctor.ts")).doctor,
  du: async () => (await import("./commands/look/du.ts")).du,
  erase: async () => (await import("./commands/keep/erase.ts")).erase,
  explain: async () => (await import("./commands/look/explain.ts")).explain,
  files: async () => (await import("./commands/look/files.ts")).files,
  forget: async () => (await import("./commands/keep/forget.ts")).forget,
  gc: async () => (await import("./commands/keep/upkeep.ts")).gc,
  grep: async () => (await import("./commands/look/grep.ts")).grep,
  head: async () => (await import("./commands/look/verify.ts")).head,
  history: async () => (await import("./commands/look/history.ts")).history,
  hook: async () => (await import("./commands/serve/hook.ts")).hook,
  import: async () => (await import("./commands/keep/import.ts")).importFile,
  export: async () => (await import("./commands/keep/archive.ts")).exportHistory,
  init: async () => (await import("./commands/change/init.ts")).init,
  list: async () => (await import("./commands/look/list.ts")).list,
  log: async () => (await import("./commands/look/log.ts")).log,
  manifest: async () => (await import("./commands/look/files.ts")).manifest,
  mcp: async () => (await import("./commands/serve/mcp.ts")).mcp,
  mv: async () => (await import("./commands/change/write-files.ts")).mv,
  pin: async () => (await import("./commands/keep/upkeep.ts")).pin,
  prune: async () => (await import("./commands/keep/prune.ts")).prune,
  put: async () => (await import("./commands/change/write-files.ts")).put,
  rebuild: async () => (await import("./commands/keep/upkeep.ts")).rebuild,
  record: async () => (await import("./commands/keep/record.ts")).record,
  redo: async () => (await import("./commands/change/undo.ts")).redo,
  replicate: async () => (await import("./commands/serve/sync.ts")).replicate,
  resolve: async () => (await import("./commands/change/resolve.ts")).resolve,
  rewind: async () => (await import("./commands/change/rewind.ts")).rewind,
  rm: async () => (await import("./commands/change/write-files.ts")).rm,
  rollback: async () => (await import("./commands/change/rollback.ts")).rollback,
  restore: async () => (await import("./commands/change/restore.ts")).restore,
  run: async () => (await import("./commands/change/run.ts")).run,
  serve: async () => (await import("./commands/serve/serve.ts")).serve,
  sessions: async () => (await import("./commands/look/sessions.ts")).sessions,
  show: async () => (await import("./commands/look/show.ts")).show,
  snapshot: async () => (await import("./commands/change/snapshot.ts")).snapshot,
  status: async () => (await import("./commands/look/status.ts")).status,
  sync: async () => (await import("./commands/serve/sync.ts")).sync,
  token: async () => (await import("./commands/serve/token.ts")).token,
  transaction: async () => (await import("./commands/change/transaction.ts")).transaction,
  turns: async () => (await import("./commands/look/turns.ts")).turns,
  ui: async () => (await import("./commands/serve/ui.ts")).ui,
  undo: async () => (await import("./commands/change/undo.ts")).undo,
  unerase: async () => (await import("./commands/keep/erase.ts")).unerase,
  unforget: async () => (await import("./commands/keep/forget.ts")).unforget,
  unpin: async () => (await import("./commands/keep/upkeep.ts")).unpin,
  verify: async () => (await import("./commands/look/verify.ts")).verify,
  versions: async () => (await import("./commands/look/versions.ts")).versions,
  watch: async () => (await import("./commands/change/watch.ts")).watch,
  workspaces: async () => (await import("./commands/look/workspaces.ts")).workspaces,
};

/** Loads the code of a command of the table. Throws if `LOADERS` does not have the command. */
export function loadAction(name: string): Promise<Action> {
  const load = LOADERS[name];
  if (load === undefined) throw new Error(`the command ${name} is in the table and has no code`);
  return load();
}
