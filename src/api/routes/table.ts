import type { Route } from "./route.ts";
import { FILE_ROWS } from "./rows/file-rows.ts";

/** Every route. One that is more particular stands before one that would match as well. */
export const ROUTES: readonly Route[] = [...FILE_ROWS];
