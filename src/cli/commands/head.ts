import { EXIT } from "../../api/problems.ts";
import type { CommandContext } from "../context.ts";

/** The signed note, byte for byte: people keep it in a file and other tools read it. */
export async function head(context: CommandContext): Promise<number> {
  const workspace = await context.reading();
  const result = await workspace.head();
  if (context.json) context.printJson(result);
  else context.io.out.write(result.note.endsWith("\n") ? result.note : `${result.note}\n`);
  return EXIT.done;
}
