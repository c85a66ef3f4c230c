import { resolve } from "node:path";
import type { ExportShape, ImportArchiveShape, WithheldShape } from "../../../api/archive-api.ts";
import { EXIT } from "../../../api/problems.ts";
import type { StoreApi } from "../../../api/store-api.ts";
import { ChronicleError, codedError } from "../../../core/values/errors.ts";
import { optional } from "../../../util/optional.ts";
import { formatBytes } from "../../../core/values/duration.ts";
import { exportArchive, importArchive } from "../../../open.ts";
import { printable, shownCommand } from "../../../process/printable.ts";
import { usageError } from "../../../process/usage-error.ts";
import { makeFolder, statBehindLink } from "../../../process/user-files.ts";
import { counted } from "../../render/words.ts";
import type { CommandContext } from "../../support/context.ts";
import { writtenPath } from "../../support/written-path.ts";

export async function exportHistory(context: CommandContext): Promise<number> {
  const { input } = context;
  const [first = "", second] = input.args;
  const [named, typed] = second === undefined ? [undefined, first] : [first, second];
  if (named !== undefined && input.text("workspace") !== undefined)
    throw usageError("the workspace is named twice", "leave out -w, or name the workspace before the file only");
  const withKey = input.flag("withKey");
  const withProtected = input.flag("withProtected");
  const withPrivate = input.flag("withPrivate");
  if (withKey || withProtected || withPrivate) await context.refuseAgent("exporting keys, secrets or private contents");
  const file = writtenPath(context, "the archive", typed);
  const id = named ?? (await context.reading()).id;
  const options = { file, force: input.flag("force"), withKey, withProtected, withPrivate, ...context.progress() };
  const done = await exportArchive(await context.store(), id, options);
  if (context.json) context.printJson(done);
  else showExport(context, done);
  return EXIT.done;
}

function showExport(context: CommandContext, done: ExportShape): void {
  const { workspace, file, bytes, seq, contents, withheld } = done;
  const what = `${counted(seq, "event")}, ${counted(contents, "content")}`;
  context.print(`exported ${workspace} up to event ${seq} (${what}; ${formatBytes(bytes)}) to ${printable(file)}`);
  for (const line of leftOut(withheld)) context.print(line);
  if (done.with_key) context.print("the signing key is in it: whoever has this file can sign as you");
}

/** Returns a line for each kind of contents that an archive leaves out. */
function leftOut({ protected: ofProtected, private: ofPrivate, elsewhere }: WithheldShape): readonly string[] {
  const lines: string[] = [];
  if (ofProtected > 0) lines.push(`left out: ${counted(ofProtected, "protected content")} (--with-protected)`);
  if (ofPrivate > 0) lines.push(`left out: ${counted(ofPrivate, "private content")} (--with-private)`);
  if (elsewhere > 0) lines.push(`left out: ${counted(elsewhere, "content")} that this store does not have either`);
  return lines;
}

/** Imports an archive. This is `chronicle import` without `--from`. */
export async function importHistory(context: CommandContext): Promise<number> {
  const { input, io } = context;
  const given = ["roundNumbers", "acceptCheckpoint", "upToTear", "folder"].find((name) => input.has(name));
  if (given !== undefined) {
    throw usageError(
      "the program that wrote the log is not named",
      "chronicle import --from chronomemory <file>; an archive of Chronicle needs none of these options",
    );
  }
  if (context.remote !== undefined)
    throw usageError("an archive is imported where the store is", "run it on the server's machine");
  await context.refuseAgent("importing a history");
  const typed = input.args[0] ?? "";
  const file = resolve(io.cwd(), typed);
  const kind = statBehindLink(file)?.kind;
  if (kind !== "file")
    throw usageError(
      kind === undefined ? `there is no file ${typed}` : `${typed} is not a file`,
      "name an archive that `chronicle export` has written",
    );
  const to = input.text("to");
  const folder = to === undefined ? undefined : writtenPath(context, "--to", to);
  const store = await context.store();
  const name = input.text("as");
  const wanted = { ...optional({ name, to: folder }), useKey: input.flag("useKey") };
  const done = await importArchive(store, { file, ...wanted, ...context.progress() });
  if (!context.json) showImport(context, done);
  if (folder !== undefined) await giveFolder(store, done.workspace, folder);
  if (context.json) context.printJson({ ...done, path: folder ?? "" });
  else context.print(nextStep(context, done, folder));
  return EXIT.done;
}

/** Gives the imported workspace its folder. If that fails, the error says that the history is imported nevertheless. */
async function giveFolder(store: StoreApi, workspace: string, folder: string): Promise<void> {
  try {
    makeFolder(folder);
    await store.init({ roots: [folder], adopt: workspace });
  } catch (error) {
    const coded = codedError(error);
    if (!(coded instanceof ChronicleError)) throw error;
    const { code, message, hint, data } = coded;
    const adopt = shownCommand(["chronicle", "init", "--adopt", workspace, "DIR"]);
    const imported = `the history is imported as ${workspace}: \`${adopt}\` gives it a folder`;
    throw new ChronicleError(code, message, {
      hint: hint === undefined ? imported : `${hint}; ${imported}`,
      data,
      cause: error,
    });
  }
}

function showImport(context: CommandContext, done: ImportArchiveShape): void {
  const { workspace, name, seq, contents, withheld, archive_key: archiveKey } = done;
  const called = name === null ? workspace : `${printable(name)} (${workspace})`;
  context.print(`verified and imported ${called}: ${counted(seq, "event")}, ${counted(contents, "content")}`);
  context.print(`its head is signed by ${printable(archiveKey)}`);
  for (const line of leftOut(withheld)) context.print(line);
  if (done.key_installed) context.print("the signing key of the archive is in place on this machine now");
  if (done.with_key && done.accepted)
    context.print("the archive holds its signing key, which was not used (--use-key, on a machine without a key)");
  if (done.accepted) context.print(`from now on it is signed by the key of this machine, ${printable(done.key)}`);
}

function nextStep(context: CommandContext, { workspace }: ImportArchiveShape, folder: string | undefined): string {
  if (folder !== undefined) return `its folder is ${printable(folder)}`;
  const adopt = shownCommand(["chronicle", "init", "--adopt", workspace, "DIR"]);
  return context.worded(
    `the workspace has no folder here: \`chronicle -w ${workspace} list\` shows it, and \`${adopt}\` gives it a folder`,
  );
}
