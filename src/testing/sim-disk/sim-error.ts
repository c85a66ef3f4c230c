/**
 * Makes an error as Node throws it for a failed system call: the errno's name in `code`, with the call and the path.
 */
export function systemError(code: string, syscall: string, path = ""): Error {
  const place = path === "" ? "" : ` '${path}'`;
  return Object.assign(new Error(`${code}: simulated, ${syscall}${place}`), { code, syscall, path });
}

/**
 * Thrown by `SimDisk` when its plan stops the machine, and by every later call, so that no code can go on. It is not a
 * system error, so that nothing takes it for a failure that it can handle.
 */
export class SimulatedCrash extends Error {
  readonly code = "SIMULATED_CRASH";

  constructor(where: string) {
    super(`The simulated machine stopped at ${where}.`);
    this.name = "SimulatedCrash";
  }
}
