import * as z from "zod";
import type { WorkspaceApi } from "../api/workspace-api.ts";
import type { ErrorCode } from "../core/values/errors.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { Answer } from "./tool-answer.ts";
import { shortened } from "./one-line.ts";
import { outputSchemaOf } from "./outputs.ts";

/**
 * `reads` changes nothing. `records` adds to the history, but changes no file of the workspace. `changes` changes
 * files, after their present state was recorded.
 */
export type Effect = "reads" | "records" | "changes";

/**
 * One MCP tool. The list of tools that clients see is made from these fields. A test checks that the table in
 * `docs/mcp.md` agrees with them.
 */
export interface ToolSpec<Input extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  /** The text for a model that knows nothing else: what the tool does, when to use it, and how to undo its effect. */
  readonly description: string;
  readonly input: Input;
  /** The fields of an answer besides the summary and the next steps (see `outputs.ts`). */
  readonly output: z.ZodRawShape;
  readonly effect: Effect;
  /** True if a second call with the same arguments changes nothing more. Default: true for `reads`, otherwise false. */
  readonly idempotent?: boolean;
  /**
   * Hints that name tools, by error code. If a call fails, the answer has the hint for the error's code before the
   * error's own hint.
   */
  readonly hints?: Readonly<Partial<Record<ErrorCode, string>>>;
  readonly run: (workspace: WorkspaceApi, args: z.output<Input>) => Promise<Answer>;
}

/** A tool that checks its arguments before it runs. */
export interface Tool extends Omit<ToolSpec<z.ZodObject>, "input" | "output" | "run"> {
  readonly inputSchema: { readonly type: "object"; readonly [key: string]: unknown };
  readonly outputSchema: { readonly type: "object"; readonly [key: string]: unknown };
  /** The names of the arguments. */
  readonly args: ReadonlySet<string>;
  /**
   * Runs the tool. Rejects with `USAGE` if the arguments do not fit the schema. `workspace` is called only if they fit.
   */
  readonly call: (workspace: () => Promise<WorkspaceApi>, args: unknown) => Promise<Answer>;
}

const MAX_COMPLAINT = 1_000;

export function defineTool<Input extends z.ZodObject>({ input, output, run, ...spec }: ToolSpec<Input>): Tool {
  const { $schema: _, ...schema } = z.toJSONSchema(input, { io: "input" });
  return {
    ...spec,
    inputSchema: { ...schema, type: "object" },
    outputSchema: outputSchemaOf(output),
    args: new Set(Object.keys(input.shape)),
    call: async (workspace, args) => {
      const parsed = input.safeParse(args ?? {});
      if (!parsed.success) {
        throw new ChronicleError("USAGE", `the arguments of ${spec.name} are not valid: ${complaint(parsed.error)}`, {
          hint: `the list of tools has the schema of ${spec.name}`,
        });
      }
      return run(await workspace(), parsed.data);
    },
  };
}

function complaint(error: z.ZodError): string {
  const parts = error.issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.join(".")}: ${message}`,
  );
  return shortened(parts.join("; "), MAX_COMPLAINT);
}
