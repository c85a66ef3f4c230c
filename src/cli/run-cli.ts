import { EXIT } from "../api/problems.ts";
import { ChronicleError, errnoOf } from "../core/values/errors.ts";
import { COMMANDS } from "./table/command-table.ts";
import { type Action, CommandContext } from "./support/context.ts";
import { Input } from "../process/input.ts";
import type { Io } from "../process/io.ts";
import { inLocalZone } from "../process/local-zone.ts";
import { loadAction } from "./load-action.ts";
import { paintFor } from "../process/paint.ts";
import { type Parsed, parseCommandLine } from "./program.ts";
import { remoteOf } from "./remote/remote-address.ts";
import { withRemoteHint } from "./remote/remote-hint.ts";
import { reportError, type ReportStyle } from "./support/report-error.ts";
import { typedPath } from "../process/typed-path.ts";

function argvBeforeDashes(argv: readonly string[]): readonly string[] {
  const at = argv.indexOf("--");
  return at < 0 ? argv : argv.slice(0, at);
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
    throw context.remote === undefined ? error : withRemoteHint(error);
  } finally {
    await context.close();
  }
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

/** Runs one command line. Resolves to the exit code; never throws for a user's mistake or a disk's error. */
export async function runCli(io: Io): Promise<number> {
  const early = argvBeforeDashes(io.argv);
  let style: ReportStyle = {
    json: early.includes("--json"),
    paint: paintFor(io.err.colours && !early.includes("--no-color")),
  };
  try {
    const parsed = parseCommandLine(io.argv, io.version, io.out);
    if (parsed === undefined) return EXIT.done;
    const input = inputOf(parsed, io.argv);
    style = { ...style, json: input.flag("json") };
    const asked = { command: parsed.spec?.name, remote: remoteOf(io, input, parsed.spec) };
    const context = new CommandContext(io, input, COMMANDS, asked);
    style = { json: context.json, paint: context.paintErr, worded: context.worded };
    changeFolder(io, input.text("directory"));
    return await perform(await loadAction(parsed.spec?.name ?? "list"), context);
  } catch (error) {
    return reportError(error, io, style);
  }
}
