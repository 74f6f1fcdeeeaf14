/** Logs: pino and the console are valid logs, and receive fields and message. */
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { afterEach, expect, it, vi } from 'vitest'
import type { Log } from '../../../src/core/ports/observability.ts'

/** A call of the log as the vault makes it. */
function speak(log: Log): void {
  log.info({ records: 2 }, 'read')
  log.warn({ operation: 'GET', code: 'forbidden' }, 'operation refused')
  log.error({ operation: 'INSERT', code: 'unavailable' }, 'operation failed')
}

afterEach(() => {
  vi.restoreAllMocks()
})

it('a pino logger and its children are valid logs, with fields beside the message', () => {
  const lines: unknown[] = []
  const stream = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)))
      done()
    },
  })
  const logger = pino({ base: null, timestamp: false }, stream)
  const log: Log = logger
  const child: Log = logger.child({ part: 'vault' })
  speak(log)
  child.warn({ code: 'forbidden' }, 'operation refused')
  expect(lines).toEqual([
    { level: 30, records: 2, msg: 'read' },
    { level: 40, operation: 'GET', code: 'forbidden', msg: 'operation refused' },
    { level: 50, operation: 'INSERT', code: 'unavailable', msg: 'operation failed' },
    { level: 40, part: 'vault', code: 'forbidden', msg: 'operation refused' },
  ])
})

it('the console is a valid log', () => {
  const said: unknown[][] = []
  for (const level of ['info', 'warn', 'error'] as const) {
    vi.spyOn(console, level).mockImplementation((...line) => {
      said.push([level, ...line])
    })
  }
  const log: Log = console
  speak(log)
  expect(said).toEqual([
    ['info', { records: 2 }, 'read'],
    ['warn', { operation: 'GET', code: 'forbidden' }, 'operation refused'],
    ['error', { operation: 'INSERT', code: 'unavailable' }, 'operation failed'],
  ])
})

it('a logger that takes the message first does not compile as a log', () => {
  const backwards = { info(_message: string): void {}, warn(_message: string): void {}, error(_message: string): void {} }
  // @ts-expect-error fields come first: such a logger would print them as its message
  const log: Log = backwards
  expect(log).toBe(backwards)
})
