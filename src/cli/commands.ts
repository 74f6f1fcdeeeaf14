/** All commands, in the order in which help and docs/cli.md list them. */
import { ADMIN } from './admin/commands.ts'
import type { CommandDescription } from './command.ts'
import { AUDIT_FOLLOW } from './follow/commands.ts'
import { INIT } from './init/commands.ts'
import { SERVE } from './serve/commands.ts'
import { EXPORT, IMPORT } from './transfer/record-commands.ts'

export const COMMANDS: readonly CommandDescription[] = [INIT, SERVE, ...ADMIN, AUDIT_FOLLOW, IMPORT, EXPORT]
