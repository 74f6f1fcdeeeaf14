/** The commands that adopt an existing table: `adopt plan` to `adopt back`. */
import type { CommandDescription } from '../command.ts'

const TABLE = {
  name: '<table>',
  text: 'the table of the application; in PostgreSQL with its schema, if it is not the current one',
}
const CHOICE = [
  { flags: '--column <pair>', text: 'a column to adopt, as email or email=mail (the column of the vault)', isList: true },
  { flags: '--vault-table <name>', text: 'the table of the vault (default: the one of the same name)' },
] as const

export const ADOPT: readonly CommandDescription[] = [
  {
    name: 'adopt plan',
    args: [TABLE],
    summary: 'Read an existing table, and say what the vault would refuse. Changes nothing.',
    options: CHOICE,
    examples: [
      'npx strongroom adopt plan customers',
      'npx strongroom adopt plan app.users --column email --column full_name=name --vault-table people',
    ],
    load: async () => (await import('./adopt.ts')).adoptPlan,
  },
  {
    name: 'adopt run',
    args: [TABLE],
    summary:
      'Bring every row into the vault while the application runs, and verify it. Run again after an interruption, it goes on.',
    options: [...CHOICE, { flags: '--watch', text: 'go on draining changes of the application until Ctrl-C' }],
    examples: ['npx strongroom adopt run customers', 'npx strongroom adopt run customers --watch'],
    load: async () => (await import('./adopt.ts')).adoptRun,
  },
  {
    name: 'adopt status',
    args: [TABLE],
    summary: 'Say how far a table is: its state, pending changes, and the rows that the vault refuses.',
    options: CHOICE,
    examples: ['npx strongroom adopt status customers --json'],
    load: async () => (await import('./adopt.ts')).adoptStatus,
  },
  {
    name: 'adopt switch',
    args: [TABLE],
    summary: 'Make the vault the truth, under a short lock. New plaintext is refused from then on.',
    options: [
      ...CHOICE,
      { flags: '--quiet <seconds>', text: 'only if old instances have changed nothing for so long (default: 0)' },
      { flags: '--leave-refused', text: 'also with rows that the vault refuses: they keep their plaintext' },
    ],
    examples: ['npx strongroom adopt switch customers --quiet 600'],
    load: async () => (await import('./adopt.ts')).adoptSwitch,
  },
  {
    name: 'adopt finish',
    args: [TABLE],
    summary: 'Remove the plaintext of a table that is switched, and say where it still is.',
    options: [
      ...CHOICE,
      { flags: '--tokens', text: 'write the token of each value in its place (default: NULL)' },
      {
        flags: '--clean',
        text: 'rewrite the file or the table, so that free space keeps no plaintext; PostgreSQL locks it meanwhile',
      },
      { flags: '--drop-columns', text: 'drop the columns: there is no way back then. Needs --yes' },
      { flags: '--yes', text: 'confirm --drop-columns' },
    ],
    examples: ['npx strongroom adopt finish customers --clean'],
    load: async () => (await import('./adopt.ts')).adoptFinish,
  },
  {
    name: 'adopt back',
    args: [TABLE],
    summary:
      'Write the values back into the table, and remove all that adopting has made. From every state before columns are dropped.',
    options: CHOICE,
    examples: ['npx strongroom adopt back customers'],
    load: async () => (await import('./adopt.ts')).adoptBack,
  },
]
