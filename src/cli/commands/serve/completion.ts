import { EXIT } from "../../../api/problems.ts";
import type { CommandContext } from "../../support/context.ts";
import { completionScript, SHELLS } from "../../support/completion-script.ts";
import { usageError } from "../../../process/usage-error.ts";

export async function completion(context: CommandContext): Promise<number> {
  const shell = context.input.args[0] ?? "";
  if (!SHELLS.includes(shell)) throw usageError(`no completions for '${shell}'`, `shells: ${SHELLS.join(", ")}`);
  const script = await completionScript(shell);
  if (context.json) context.printJson({ shell, script });
  else context.io.out.write(script);
  return EXIT.done;
}
