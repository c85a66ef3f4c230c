// Writes docs/openapi.json. The server serves this file, and a test compares it with the table of routes.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROUTES } from "../src/api/routes/table.ts";
import { makeDocument } from "./openapi/make-document.ts";
import { replyComponents } from "./openapi/reply-components.ts";

const file = join(import.meta.dirname, "..", "docs", "openapi.json");
writeFileSync(file, `${JSON.stringify(makeDocument(ROUTES, replyComponents()), null, 2)}\n`);
