/** docs/cli.md lists the commands as they are, and the exit codes. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { commandsPage } from '../../scripts/write-commands.ts'
import { EXIT } from '../../src/cli/failure.ts'

const page = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8')

it('docs/cli.md is what npm run commands writes', () => {
  expect(page).toBe(commandsPage())
})

it('has every exit code', () => {
  const codes = [...page.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code))
  expect(codes).toEqual(Object.values(EXIT).sort((left, right) => left - right))
})
