import { EXIT } from "../../../api/problems.ts";
import type { AcceptedHeadShape, SigningShape } from "../../../api/shapes.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import { confirm } from "../../support/confirm.ts";
import type { CommandContext } from "../../support/context.ts";
import { printable } from "../../../process/printable.ts";

/** Prints the signed note, byte for byte: people keep it in a file, and other tools read it. */
export async function head(context: CommandContext): Promise<number> {
  if (context.input.flag("accept")) return accept(context);
  const workspace = await context.reading();
  const result = await workspace.head();
  if (context.json) context.printJson(result);
  else context.io.out.write(result.note.endsWith("\n") ? result.note : `${result.note}\n`);
  return EXIT.done;
}

/** Asks for consent to go on from a history that cannot be proved: by `--yes`, or at the terminal. */
async function agreed(context: CommandContext, { detail }: SigningShape): Promise<boolean> {
  if (context.input.flag("yes")) return true;
  if (!context.canAsk) {
    throw new ChronicleError(
      "REFUSED",
      "accepting a history that cannot be proved needs a person, and nobody can be asked here",
      {
        hint: "see what is wrong with `chronicle status` and `chronicle verify`; if you are sure: `chronicle head --accept --yes`",
      },
    );
  }
  return confirm(context, `${printable(detail ?? "")}. Go on from what is there?`);
}

async function accept(context: CommandContext): Promise<number> {
  const signing = await (await context.reading()).signing();
  const isWrong = signing.state === "unsigned" || signing.state === "read-only";
  if (isWrong && (await context.isOperator()) && !(await agreed(context, signing))) return EXIT.failed;
  const workspace = await context.workspace({});
  const result = await workspace.acceptHead();
  context.nowSigned();
  if (context.json) context.printJson(result);
  else for (const line of linesOf(result)) context.print(line);
  return EXIT.done;
}

function linesOf({ accepted, seq, log, head: old, kept_as: keptAs }: AcceptedHeadShape): string[] {
  if (!accepted) return [`nothing to accept: this history is signed, and agrees with its head (seq ${seq})`];
  const was = old === null ? "no head that could be read was kept" : `the head until now was of event ${old.seq}`;
  return [
    `accepted: goes on from event ${log?.seq ?? 0}, as event ${seq} says`,
    keptAs === null ? was : `${was}; its note is kept as heads/${keptAs}`,
  ];
}
