/** The command `init`. */
import type { CommandDescription } from '../command.ts'

export const INIT: CommandDescription = {
  name: 'init',
  summary: 'Make a vault in this folder: configuration, schema, key file, and the key of its first owner.',
  options: [
    { flags: '--yes', text: 'ask nothing: SQLite, and the defaults below' },
    { flags: '--id <id>', text: 'id of the vault, which can never change (default: main)' },
    { flags: '--storage <kind>', text: 'sqlite or postgres (default: sqlite)' },
    { flags: '--postgres-env <name>', text: 'environment variable with the address of PostgreSQL (default: DATABASE_URL)' },
  ],
  examples: ['npx strongroom init', 'npx strongroom init --yes && npx strongroom serve'],
  load: async () => (await import('./init.ts')).init,
}
