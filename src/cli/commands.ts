/** All commands, in the order in which help and docs/cli.md list them. */

import { AUDIT } from './audit/commands.ts'
import type { CommandDescription } from './command.ts'
import { INIT } from './init/commands.ts'

export const COMMANDS: readonly CommandDescription[] = [INIT, ...AUDIT]
