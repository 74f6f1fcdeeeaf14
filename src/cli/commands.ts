/** All commands, in the order in which help and docs/cli.md list them. */
import { ADMIN } from './admin/commands.ts'
import { ADOPT } from './adopt/commands.ts'
import { AUDIT } from './audit/commands.ts'
import type { CommandDescription } from './command.ts'
import { INIT } from './init/commands.ts'
import { SERVE } from './serve/commands.ts'
import { EXPORT, IMPORT } from './transfer/record-commands.ts'
import { BACKUP, MOVE, RESTORE } from './transfer/vault-commands.ts'

export const COMMANDS: readonly CommandDescription[] = [
  INIT,
  SERVE,
  ...ADMIN,
  ...AUDIT,
  IMPORT,
  EXPORT,
  MOVE,
  BACKUP,
  RESTORE,
  ...ADOPT,
]
