/** The program: arguments, options, output, exit codes, interruption. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { CommandDescription, CommandWork } from '../../src/cli/command.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import { CommandFailure, EXIT, exitCodeOf, sentenceOf } from '../../src/cli/failure.ts'
import { createProgram } from '../../src/cli/program.ts'
import { VERSION } from '../../src/cli/version.ts'
import { VaultError } from '../../src/index.ts'

/** Runs a line with one command, and returns what was printed. */
async function run(line: readonly string[], work: CommandWork, interrupts: ((signal: string) => void)[] = []) {
  const printed = { stdout: '', stderr: '' }
  const stream = (name: 'stdout' | 'stderr') => ({
    write(text: string) {
      printed[name] += text
    },
  })
  const description: CommandDescription = {
    name: 'thing do',
    summary: 'Does a thing.',
    args: [{ name: '<table>', text: 'a table' }],
    options: [
      { flags: '--limit <number>', text: 'a number' },
      { flags: '--form <form>', text: 'a form' },
      { flags: '--column <name>', text: 'a column', isList: true },
    ],
    examples: ['npx strongroom thing do customers'],
    load: async () => work,
  }
  const program = createProgram([description], {
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    environment: {},
    onInterrupt: (interrupt) => interrupts.push(interrupt),
  })
  const outcome = await program.run(line).catch((error: unknown) => error)
  return { outcome, ...printed }
}

const nothing: CommandWork = async () => undefined

describe('the program', () => {
  it('passes arguments and options', async () => {
    const { outcome, stdout } = await run(
      ['thing', 'do', 'customers', '--limit', '3', '--form', 'b', '--column', 'x', '--column', 'y', '--json'],
      async ({ args, options, output }) => {
        output.result(
          [
            args,
            options.integer('limit'),
            options.word('form', ['a', 'b']),
            options.list('column'),
            options.isSet('yes'),
            2n ** 60n,
          ],
          () => 'text',
        )
        return EXIT.found
      },
    )
    expect(outcome).toBe(1)
    expect(JSON.parse(stdout)).toEqual([['customers'], 3, 'b', ['x', 'y'], false, '1152921504606846976'])
  })

  it('refuses wrong lines with 2', async () => {
    expect((await run(['thing', 'do'], nothing)).outcome).toBe(2)
    expect((await run(['thing', 'undo'], nothing)).outcome).toBe(2)
    expect((await run(['thing', 'do', 'customers', '--unknown'], nothing)).outcome).toBe(2)
    const failure = (line: readonly string[]) =>
      run(['thing', 'do', 'customers', ...line], async ({ options }) => {
        options.integer('limit', { min: 1, max: 9 })
        options.word('form', ['a', 'b'])
        return undefined
      })
    expect((await failure(['--limit', '10'])).outcome).toEqual(new CommandFailure(2, '--limit must be an integer from 1 to 9.'))
    expect((await failure(['--limit', '1e0'])).outcome).toEqual(new CommandFailure(2, '--limit must be an integer from 1 to 9.'))
    expect((await failure(['--form', 'c'])).outcome).toEqual(new CommandFailure(2, '--form must be one of: a, b.'))
  })

  it('prints help with an example, and its version', async () => {
    expect(await run(['thing', 'do', '--help'], nothing)).toMatchObject({
      outcome: 0,
      stdout: expect.stringContaining('npx strongroom thing do customers'),
    })
    expect((await run(['--version'], nothing)).stdout).toBe(`${VERSION}\n`)
    expect(VERSION).toBe(JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version)
  })

  it('ends by a signal with 130', async () => {
    const interrupts: ((signal: string) => void)[] = []
    const { outcome } = await run(
      ['thing', 'do', 'customers'],
      async ({ signal }) => {
        for (const interrupt of interrupts) interrupt('SIGINT')
        throw signal.reason
      },
      interrupts,
    )
    expect(exitCodeOf(outcome)).toBe(130)
  })

  it('prints a table without control characters, to its end in a file', async () => {
    const { stdout } = await run(['thing', 'do', 'customers'], async ({ output }) => {
      output.rows([
        { id: 1, name: 'Ann\u001b[2J' },
        { id: 22, other: null },
      ])
      return undefined
    })
    expect(stdout).toBe('id  name          other\n1   Ann\\u001b[2J\n22\n')
  })
})

describe('failures', () => {
  it('have a code by their kind, and quote no unknown message', () => {
    const system = Object.assign(new Error('connect ECONNREFUSED secret'), { code: 'ECONNREFUSED', path: '/run/db.sock' })
    expect([exitCodeOf(system), sentenceOf(system)]).toEqual([5, '/run/db.sock: Nothing listens at this address.'])
    expect(exitCodeOf(new VaultError('not_found', 'No.'))).toBe(4)
    expect(exitCodeOf(new VaultError('storage_full', 'No.'))).toBe(5)
    expect(exitCodeOf(new VaultError('data_loss', 'No.'))).toBe(1)
    expect(exitCodeOf(new TypeError('secret'))).toBe(6)
    expect(sentenceOf(new TypeError('secret'))).not.toContain('secret')
  })
})

describe('every command', () => {
  for (const { name, summary, examples, load } of COMMANDS) {
    it(`${name} has a summary, an example of itself, and its work`, async () => {
      expect(summary).toMatch(/^[A-Z].*\.$/)
      expect(examples.some((one) => one.includes(`strongroom ${name}`))).toBe(true)
      expect(await load()).toBeTypeOf('function')
    })
  }

  it('has a name of its own', () => {
    expect(new Set(COMMANDS.map(({ name }) => name)).size).toBe(COMMANDS.length)
  })
})
