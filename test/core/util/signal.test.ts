/** Signals: those of callers are read safely, and those of the vault run every listener. */
import { getEventListeners } from 'node:events'
import { expect, it } from 'vitest'
import { assertNotAborted, createAbortable, parseSignal, unlessAborted } from '../../../src/core/util/signal.ts'

const CANCELLED = { code: 'cancelled', message: 'It was cancelled by its AbortSignal.' }

it('parses an AbortSignal, what only has aborted, and nothing', () => {
  expect(parseSignal(undefined)).toBeUndefined()
  expect(parseSignal(AbortSignal.abort())?.aborted).toBe(true)
  const minimal = parseSignal({ aborted: false })
  minimal?.addEventListener('abort', () => {})
  minimal?.removeEventListener('abort', () => {})
  expect(minimal?.aborted).toBe(false)
  for (const wrong of [null, 5, 'x', {}, []]) expect(() => parseSignal(wrong)).toThrow('signal must be an AbortSignal.')
})

it('throws after an abort only', () => {
  const { signal, abort } = createAbortable()
  expect(() => assertNotAborted(undefined)).not.toThrow()
  expect(() => assertNotAborted(signal)).not.toThrow()
  abort()
  expect(() => assertNotAborted(signal)).toThrow(expect.objectContaining(CANCELLED))
})

it('ends the wait for work at an abort, and listens no longer than the work runs', async () => {
  const controller = new AbortController()
  const signal = parseSignal(controller.signal)
  expect(await unlessAborted(signal, async () => 1)).toBe(1)
  await expect(unlessAborted(signal, () => Promise.reject(new Error('own')))).rejects.toThrow('own')
  expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  const waiting = unlessAborted(signal, () => new Promise(() => {}))
  controller.abort()
  await expect(waiting).rejects.toMatchObject(CANCELLED)
  let runs = 0
  await expect(unlessAborted(signal, async () => runs++)).rejects.toMatchObject(CANCELLED)
  expect(runs).toBe(0)
  expect(getEventListeners(controller.signal, 'abort')).toEqual([])
})

it('runs every listener once, whatever one of them throws', () => {
  const { signal, abort } = createAbortable()
  const calls: string[] = []
  const removed = () => void calls.push('removed')
  signal.addEventListener('abort', () => {
    calls.push('first')
    throw new Error('own')
  })
  signal.addEventListener('abort', removed)
  signal.removeEventListener('abort', removed)
  signal.addEventListener('abort', () => void calls.push('last'))
  abort()
  abort()
  expect(calls).toEqual(['first', 'last'])
  expect(signal.aborted).toBe(true)
})
