import { EXIT } from "../../../api/problems.ts";
import { formatBytes } from "../../../core/values/duration.ts";
import type { CommandContext } from "../../support/context.ts";
import { counted } from "../../render/words.ts";
import type { CompactShape } from "../../../api/shapes.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import { confirm } from "../../support/confirm.ts";
import { printable } from "../../../process/printable.ts";

export async function gc(context: CommandContext): Promise<number> {
  const store = await context.store();
  const result = await store.gc();
  if (context.json) context.printJson(result);
  else {
    context.print(`freed ${formatBytes(result.freed_bytes)} (${counted(result.freed_blobs, "blob")})`);
    if (result.pending_blobs > 0) {
      const what = `${counted(result.pending_blobs, "blob")} (${formatBytes(result.pending_bytes)})`;
      context.print(
        `not freed yet: ${what} that no history needs any more; their packs are in use or mostly still needed, and a later gc frees them`,
      );
    }
  }
  for (const { workspace, detail } of result.damaged ?? [])
    context.say(
      `the forgotten history ${workspace} is damaged, so the contents that it still names were kept: ${detail}`,
    );
  return EXIT.done;
}

async function agreed(context: CommandContext): Promise<boolean> {
  if (context.input.flag("yes")) return true;
  if (!context.canAsk) {
    throw new ChronicleError("REFUSED", "removing events cannot be undone, and nobody can be asked here", {
      hint: "if you are sure: chronicle compact --drop-archive --yes",
    });
  }
  return confirm(context, "Remove every archived event for good? Earlier snapshots can then not be restored.");
}

function sentence(result: CompactShape): string {
  const archived =
    result.events_archived === 0
      ? "there was nothing to move into the archive"
      : `${counted(result.events_archived, "event")} moved into the archive; the log goes on with event ${result.seq}`;
  if (result.dropped === 0) return archived;
  const removed = `${counted(result.dropped, "event")} removed for good: the history begins at event ${result.seq}`;
  return `${removed} (chronicle gc frees contents that only they named)`;
}

export async function compact(context: CommandContext): Promise<number> {
  const dropArchive = context.input.flag("dropArchive");
  const workspace = await context.workspace({});
  if (dropArchive && (await context.isOperator()) && !(await agreed(context))) return EXIT.failed;
  const result = await workspace.compact({ dropArchive, ...context.progress() });
  if (context.json) context.printJson(result);
  else context.print(context.worded(sentence(result)));
  return EXIT.done;
}

export async function rebuild(context: CommandContext): Promise<number> {
  const workspace = await context.workspace({});
  const result = await workspace.rebuild(context.progress());
  if (context.json) context.printJson(result);
  else {
    const size = `${counted(result.events, "event")}, ${counted(result.entries, "path")}`;
    context.print(`the index was made anew: ${size} in ${result.seconds.toFixed(2)} s`);
  }
  return EXIT.done;
}

async function setPin(context: CommandContext, pinned: boolean): Promise<number> {
  const id = context.input.args[0] ?? "";
  const workspace = await context.workspace({});
  await workspace.pin(id, pinned);
  if (context.json) context.printJson({ id, pinned });
  else context.print(pinned ? `${printable(id)} is kept until it is unpinned` : `${printable(id)} is no longer pinned`);
  return EXIT.done;
}

export function pin(context: CommandContext): Promise<number> {
  return setPin(context, !context.input.flag("off"));
}

export function unpin(context: CommandContext): Promise<number> {
  return setPin(context, false);
}
