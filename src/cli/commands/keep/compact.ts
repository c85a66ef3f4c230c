import { EXIT } from "../../../api/problems.ts";
import type { CompactShape } from "../../../api/shapes.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import { confirm } from "../../support/confirm.ts";
import type { CommandContext } from "../../support/context.ts";
import { counted } from "../../render/counted.ts";

/** Asks for consent to remove contents for good: by `--yes`, or at the terminal. */
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
