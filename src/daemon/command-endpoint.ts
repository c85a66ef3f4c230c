import type { IncomingHttpHeaders } from "node:http";
import type { ServerRoute } from "../server/answers/server-route.ts";
import {
  COMMAND_ENDED_PATH,
  COMMAND_PATH,
  COMMAND_PROGRESS_PATH,
  type CommandAnswer,
  type CommandCall,
  encodeAnswer,
  type RunReport,
} from "./command-call.ts";

/** The maximum size of a call, in bytes. Arguments and environment can have 2 MiB together (execve(2)). */
const MAX_BODY = 8 * 1024 ** 2;

interface CommandEndpointOptions {
  readonly version: string;
  /** Returns the mark of the program that this process runs; an empty text if the program's files were replaced. */
  readonly program: () => string;
  readonly perform: (call: CommandCall) => Promise<CommandAnswer>;
  /** The progress of the commands under way, by the ids of their requests. */
  readonly progress: ReadonlyMap<string, string>;
  /** Resolves to the answer of the run whose command has ended. */
  readonly ended: (report: RunReport) => Promise<CommandAnswer>;
}

/**
 * Returns the routes by which a command line asks this process to carry out a command, asks for its progress, and
 * reports the end of the command of its run. If the command line is of another version or program, this process does
 * not carry out the command (the answer is `direct`).
 */
export function commandRoutes(options: CommandEndpointOptions): readonly ServerRoute[] {
  const { version, program, perform, progress, ended } = options;
  return [
    routeOf(COMMAND_PATH, async (body, headers) => {
      const call = JSON.parse(body) as CommandCall;
      const isSame = headers["x-chronicle-version"] === version && call.program === program();
      return encodeAnswer(isSame ? await perform(call) : { direct: "another program" });
    }),
    routeOf(COMMAND_PROGRESS_PATH, (request) => Promise.resolve(Buffer.from(progress.get(request) ?? ""))),
    routeOf(COMMAND_ENDED_PATH, async (body) => encodeAnswer(await ended(JSON.parse(body) as RunReport))),
  ];
}

function routeOf(
  path: string,
  answer: (body: string, headers: IncomingHttpHeaders) => Promise<Uint8Array>,
): ServerRoute {
  return {
    method: "POST",
    path,
    maxBody: MAX_BODY,
    handle: async ({ headers, body }) => {
      const headersOf = { "content-type": "application/octet-stream", connection: "close" };
      return { status: 200, headers: headersOf, body: await answer(body.toString("utf8"), headers) };
    },
  };
}
