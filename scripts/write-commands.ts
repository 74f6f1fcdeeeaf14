/** Writes docs/cli.md from the descriptions of the commands, which are their help: npm run commands */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CommandDescription } from '../src/cli/command.ts'
import { COMMANDS } from '../src/cli/commands.ts'

const PAGE = join(import.meta.dirname, '../docs/cli.md')
/** What is above this line is written by hand. */
const MARK = '<!-- From here on: npm run commands -->'

/** Returns the text of the page for the commands as they are now. */
export function commandsPage(): string {
  const [head = ''] = readFileSync(PAGE, 'utf8').split(MARK)
  return `${head}${MARK}\n\n${COMMANDS.map(sectionOf).join('\n')}`
}

function sectionOf({ name, args = [], summary, options = [], examples }: CommandDescription): string {
  const line = ['strongroom', name, ...args.map((one) => one.name)].join(' ')
  const rows = [
    ...args.map((one) => [one.name, one.text]),
    ...options.map(({ flags, text, isList = false }) => [flags, isList ? `${text}; can be repeated` : text]),
  ]
  const table =
    rows.length === 0
      ? []
      : ['', '| | |', '|---|---|', ...rows.map(([first, second]) => `| \`${cell(first)}\` | ${cell(second)} |`)]
  return [`### ${name}`, '', summary, '', '```sh', `# ${line}`, ...examples, '```', ...table, ''].join('\n')
}

function cell(text = ''): string {
  return text.replaceAll('|', '\\|')
}

if (import.meta.main) writeFileSync(PAGE, commandsPage())
