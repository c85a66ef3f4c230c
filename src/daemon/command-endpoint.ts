import type { IncomingHttpHeaders } from "node:http";
import type { ServerRoute } from "../server/answers/server-route.ts";
import {
  COMMAND_ENDED_PATH,
  COMMAND_PATH,
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
  /** Resolves to the answer of the run whose command has ended. */
  readonly ended: (report: RunReport) => Promise<CommandAnswer>;
}

/**
 * Returns the routes by which a command line asks this process to carry out a command, and reports the end of the
 * command of its run. A command line of another version or program must carry out the command itself.
 */
export function commandRoutes({ version, program, perform, ended }: CommandEndpointOptions): readonly ServerRoute[] {
  return [
    routeOf(COMMAND_PATH, (body, headers) => {
      const call = JSON.parse(body) as CommandCall;
      const isSame = headers["x-chronicle-version"] === version && call.program === program();
      return isSame ? perform(call) : Promise.resolve({ direct: "another program" });
    }),
    routeOf(COMMAND_ENDED_PATH, (body) => ended(JSON.parse(body) as RunReport)),
  ];
}

function routeOf(
  path: string,
  answer: (body: string, headers: IncomingHttpHeaders) => Promise<CommandAnswer>,
): ServerRoute {
  return {
    method: "POST",
    path,
    maxBody: MAX_BODY,
    handle: async ({ headers, body }) => {
      const headersOf = { "content-type": "application/octet-stream", connection: "close" };
      return { status: 200, headers: headersOf, body: encodeAnswer(await answer(body.toString("utf8"), headers)) };
    },
  };
}
