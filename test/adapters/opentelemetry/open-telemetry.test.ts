/** Operations as spans: named and nested as they ran, with only names, codes and counts as attributes. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { readFileSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { type Context, type ContextManager, context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openTelemetry } from '../../../src/adapters/opentelemetry/index.ts'
import type { Span } from '../../../src/core/ports/observability.ts'

/** Registers what an SDK for Node does: an active context that follows promises. */
function followPromises(): ContextManager {
  const active = new AsyncLocalStorage<Context>()
  const manager: ContextManager = {
    active: () => active.getStore() ?? ROOT_CONTEXT,
    with: (given, work, self, ...args) => active.run(given, () => work.call(self, ...args)),
    bind: (_given, target) => target,
    enable: () => manager,
    disable: () => manager,
  }
  return manager
}

/** A provider that exposes its ended spans. */
function recorder(sampler?: Sampler): { readonly provider: BasicTracerProvider; readonly ended: () => ReadableSpan[] } {
  const exporter = new InMemorySpanExporter()
  const processors = { spanProcessors: [new SimpleSpanProcessor(exporter)] }
  const provider = new BasicTracerProvider(sampler === undefined ? processors : { ...processors, sampler })
  return { provider, ended: () => exporter.getFinishedSpans() }
}

/** Work that does nothing and succeeds. */
async function endWell(span: Span): Promise<void> {
  span.end({}, undefined)
}

beforeEach(() => {
  context.setGlobalContextManager(followPromises())
})

afterEach(() => {
  trace.disable()
  context.disable()
})

it('a span has its name and all attributes of its start and end', async () => {
  const { provider, ended } = recorder()
  trace.setGlobalTracerProvider(provider)
  const answer = await openTelemetry().startActiveSpan('strongroom.insert', { table: 'cards', records: 2 }, async (span) => {
    await turn()
    span.end({ records: 3, upsert: true }, undefined)
    return 'answer'
  })
  expect(answer).toBe('answer')
  expect(ended()).toHaveLength(1)
  expect(ended()[0]).toMatchObject({
    name: 'strongroom.insert',
    kind: SpanKind.INTERNAL,
    attributes: { 'strongroom.table': 'cards', 'strongroom.records': 3, 'strongroom.upsert': true },
    status: { code: SpanStatusCode.UNSET },
  })
})

it('a failed span records the code only, and the error is rethrown unchanged', async () => {
  const { provider, ended } = recorder()
  const error = new Error('duplicate key value: ann@acme.example')
  const failing = openTelemetry({ tracer: provider.getTracer('host') }).startActiveSpan('strongroom.insert', {}, async (span) => {
    await turn()
    span.end({ table: 'cards' }, 'conflict')
    throw error
  })
  await expect(failing).rejects.toBe(error)
  expect(ended()).toHaveLength(1)
  expect(ended()[0]).toMatchObject({
    status: { code: SpanStatusCode.ERROR, message: 'conflict' },
    attributes: { 'strongroom.table': 'cards' },
    events: [],
  })
})

it('a span ends when its work ends it, not before', async () => {
  const { provider, ended } = recorder()
  await openTelemetry({ tracer: provider.getTracer('host') }).startActiveSpan('strongroom.get', {}, async (span) => {
    await turn()
    expect(ended()).toEqual([])
    span.end({}, undefined)
    expect(ended()).toHaveLength(1)
  })
  expect(ended()).toHaveLength(1)
})

it('a span inside the work is a child, also after a promise, and a sibling is not', async () => {
  const { provider, ended } = recorder()
  trace.setGlobalTracerProvider(provider)
  const tracing = openTelemetry()
  const parentOf = (name: string): Promise<void> =>
    tracing.startActiveSpan(name, {}, async (span) => {
      await turn()
      await tracing.startActiveSpan(`${name}.inner`, {}, endWell)
      await turn()
      span.end({}, undefined)
    })
  await trace.getTracer('host').startActiveSpan('request', async (request) => {
    await Promise.all([parentOf('one'), parentOf('other')])
    request.end()
  })
  await parentOf('apart')

  const spans = new Map(ended().map((span) => [span.name, span]))
  const idOf = (name: string): string | undefined => spans.get(name)?.spanContext().spanId
  const parents = [...spans.values()].map((span) => [span.name, span.parentSpanContext?.spanId])
  expect(Object.fromEntries(parents)).toEqual({
    request: undefined,
    one: idOf('request'),
    other: idOf('request'),
    'one.inner': idOf('one'),
    'other.inner': idOf('other'),
    apart: undefined,
    'apart.inner': idOf('apart'),
  })
})

it('the trace id is that of the outer trace, even if it is not sampled', async () => {
  for (const sampler of [undefined, new AlwaysOffSampler()]) {
    const { provider, ended } = recorder(sampler)
    const host = provider.getTracer('host')
    const traced = await host.startActiveSpan('request', (request) =>
      openTelemetry({ tracer: host }).startActiveSpan('strongroom.get', {}, async (span) => {
        span.end({}, undefined)
        return [span.traceId, request.spanContext().traceId]
      }),
    )
    expect(traced[0]).toMatch(/^[0-9a-f]{32}$/)
    expect(traced[0]).toBe(traced[1])
    expect(ended()).toHaveLength(sampler === undefined ? 1 : 0)
  }
})

it('without an SDK the work runs and there is no trace id', async () => {
  const traced = await openTelemetry().startActiveSpan('strongroom.get', { records: 1 }, async (span) => {
    span.end({ records: 1 }, 'internal')
    return { traceId: span.traceId }
  })
  expect(traced).toEqual({ traceId: undefined })
})

it('an SDK can be registered after the vault was opened', async () => {
  const tracing = openTelemetry()
  await tracing.startActiveSpan('strongroom.early', {}, endWell)
  const { provider, ended } = recorder()
  trace.setGlobalTracerProvider(provider)
  await tracing.startActiveSpan('strongroom.late', {}, endWell)
  expect(ended().map(({ name }) => name)).toEqual(['strongroom.late'])
})

it('a given tracer is used instead of the registered one', async () => {
  const [registered, given] = [recorder(), recorder()]
  trace.setGlobalTracerProvider(registered.provider)
  await openTelemetry({ tracer: given.provider.getTracer('host') }).startActiveSpan('strongroom.get', {}, endWell)
  expect(registered.ended()).toEqual([])
  expect(given.ended().map(({ instrumentationScope }) => instrumentationScope.name)).toEqual(['host'])
})

it('spans contain the name and version of the package', async () => {
  const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))
  const { provider, ended } = recorder()
  trace.setGlobalTracerProvider(provider)
  await openTelemetry().startActiveSpan('strongroom.get', {}, endWell)
  expect(ended()[0]?.instrumentationScope).toMatchObject({ name: manifest.name, version: manifest.version })
})
