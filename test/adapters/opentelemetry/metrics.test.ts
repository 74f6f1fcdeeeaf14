/** Operations as metrics: counts, durations, rows, commits and caches, with names and codes as attributes and never a value. */
import { type Attributes, metrics as api } from '@opentelemetry/api'
import {
  AggregationTemporality,
  type DataPoint,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { afterEach, expect, it } from 'vitest'
import { openTelemetryMetrics } from '../../../src/adapters/opentelemetry/index.ts'
import { VERSION } from '../../../src/adapters/opentelemetry/open-telemetry.ts'
import type { Metrics, VaultOptions } from '../../../src/index.ts'
import { type Clients, callerOf, openClients } from '../../support/audit/audited-clients.ts'
import { memoryEngine, onEachStorage } from '../../support/storages/engines.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

/** What is compared of a histogram. */
type Summary = Pick<Histogram, 'count' | 'min' | 'max'>

/** What the SDK exports of an instrument: its unit, and a point for each set of attributes. */
interface Exported {
  readonly unit: string
  readonly points: readonly DataPoint<number | Summary>[]
}

/** The SDK with an exporter in memory. */
function recordingSdk() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  // Exports when it is asked to. The interval is longer than a test.
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 31 - 1 })
  const provider = new MeterProvider({ readers: [reader] })
  /** Exports, and returns the instruments by name. */
  async function collect(): Promise<Record<string, Exported>> {
    exporter.reset()
    await provider.forceFlush()
    const scopes = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics)
    const instruments = scopes.flatMap(({ metrics }) => metrics)
    return Object.fromEntries(
      instruments.map(({ descriptor: { name, unit }, dataPoints }) => [name, { unit, points: [...dataPoints] }]),
    )
  }
  /** The name and version of each scope that has instruments. */
  const scopes = () => exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.map(({ scope }) => scope))
  return { meter: provider.getMeter('test'), provider, collect, scopes }
}

/** The points of an instrument that have these attributes. */
function pointsOf(exported: Exported | undefined, attributes: Attributes): Exported['points'] {
  return (exported?.points ?? []).filter((point) =>
    Object.entries(attributes).every(([name, value]) => point.attributes[name] === value),
  )
}

/** Sums the points of a counter that have these attributes, or the counts of a histogram. */
function sumOf(exported: Exported | undefined, attributes: Attributes): number {
  return pointsOf(exported, attributes).reduce((sum, { value }) => sum + (typeof value === 'number' ? value : value.count), 0)
}

/** The histograms of the points of an instrument. */
function histogramsOf(exported: Exported | undefined): Summary[] {
  return (exported?.points ?? []).flatMap(({ value }) => (typeof value === 'number' ? [] : [value]))
}

const POLICY = { clerk: ['ALLOW CREATE ON clients.name'] } as const
const ANN = { fields: { name: 'TEST_SECRET Ann', email: 'test-secret@acme.example' } } as const

function openMeasured(metrics: Metrics, more: Partial<VaultOptions<Clients>> = {}, storage = memoryEngine().fresh().open()) {
  return openClients(storage, { policy: POLICY, metrics, ...more })
}

afterEach(() => {
  api.disable()
})

onEachStorage('metrics', (engine) => {
  it.each(['on', 'off'] as const)('count operations, rows and commits, with the audit %s', async (audit) => {
    const { meter, collect } = recordingSdk()
    const vault = await openMeasured(openTelemetryMetrics({ meter }), { audit }, engine.fresh().open())
    const owner = vault.as(OWNER)
    const { records } = await owner.insert('clients', [ANN, { fields: { name: 'Bo' } }])
    await owner.get('clients', { ids: records.map(({ id }) => id) })
    await owner.insert('clients', [ANN]).catch(() => {})
    await vault
      .as(callerOf('clerk'))
      .get('clients')
      .catch(() => {})
    await owner.update(
      'clients',
      records.map(({ id }) => ({ id, fields: { salary: 5 } })),
    )
    await owner.batch([
      { insert: 'clients', fields: { name: 'Cy' } },
      { delete: 'clients', id: { response: 0 } },
    ])
    await owner.batch([{ insert: 'clients', fields: { name: 'Cy' } }])
    await Promise.all(['1', '2', '3'].map((name) => owner.insert('clients', [{ fields: { name } }])))

    const found = await collect()
    const of = (operation: string) => ({ 'strongroom.operation': operation })
    const operations = found['strongroom.operations']
    expect(sumOf(operations, of('insert'))).toBe(5)
    expect(sumOf(operations, { ...of('insert'), 'error.type': 'conflict' })).toBe(1)
    expect(sumOf(operations, { ...of('get'), 'error.type': 'forbidden' })).toBe(1)
    expect(sumOf(operations, of('update'))).toBe(1)
    expect(sumOf(operations, of('batch'))).toBe(2)
    const inClients = (operation: string) => ({ ...of(operation), 'strongroom.table': 'clients' })
    expect(sumOf(found['strongroom.rows.written'], inClients('insert'))).toBe(5)
    expect(sumOf(found['strongroom.rows.written'], inClients('update'))).toBe(2)
    expect(sumOf(found['strongroom.rows.written'], of('batch'))).toBe(3)
    expect(sumOf(found['strongroom.rows.read'], inClients('get'))).toBe(2)

    const durations = found['strongroom.operation.duration']
    expect(durations?.unit).toBe('s')
    expect(sumOf(durations, {})).toBe(sumOf(operations, {}))
    expect(histogramsOf(durations).every(({ min = -1, max = 60 }) => min > 0 && max < 60)).toBe(true)
    const [commits] = histogramsOf(found['strongroom.commit.operations'])
    expect(commits?.min).toBeGreaterThanOrEqual(1)
    // Three inserts of one turn share their commit.
    expect(commits?.max).toBe(3)
    await vault.close()
  })
})

it('caches are observed: entries while the vault is open, and counts that never fall', async () => {
  const { meter, collect } = recordingSdk()
  const metrics = openTelemetryMetrics({ meter })
  const vaults = [await openMeasured(metrics), await openMeasured(metrics)]
  for (const vault of vaults) {
    await vault.as(OWNER).query('SELECT name FROM clients')
    await vault.as(OWNER).query('SELECT name FROM clients')
  }
  const of = (cache: string) => ({ 'strongroom.cache': cache })
  const open = await collect()
  expect(sumOf(open['strongroom.cache.entries'], of('access'))).toBe(2)
  expect(sumOf(open['strongroom.cache.hits'], of('access'))).toBe(2)
  expect(sumOf(open['strongroom.cache.misses'], of('access'))).toBe(2)
  expect(sumOf(open['strongroom.cache.entries'], of('query_forms'))).toBe(2)
  expect(sumOf(open['strongroom.cache.hits'], of('query_forms'))).toBe(2)
  for (const vault of vaults) await vault.close()
  const closed = await collect()
  expect(sumOf(closed['strongroom.cache.entries'], {})).toBe(0)
  expect(sumOf(closed['strongroom.cache.hits'], of('query_forms'))).toBe(2)
})

it('attributes hold names and codes only, also of a table that does not exist', async () => {
  const { meter, collect } = recordingSdk()
  const vault = await openMeasured(openTelemetryMetrics({ meter }))
  const owner = vault.as(OWNER)
  const { records } = await owner.insert('clients', [ANN], { tokenization: true })
  await owner.get('test_secret' as never).catch(() => {})
  await owner.query("SELECT name FROM clients WHERE email = 'test-secret@acme.example'")
  await owner.detokenize([{ token: records[0]?.tokens.email ?? '' }])
  const text = JSON.stringify(await collect())
  expect(text).not.toMatch(/secret|acme/i)
  expect(text).not.toContain(records[0]?.id ?? 'id')
  expect(text).not.toContain(records[0]?.tokens.email ?? 'token')
})

it('a provider can be registered after the vault was opened', async () => {
  const vault = await openMeasured(openTelemetryMetrics())
  await vault.as(OWNER).insert('clients', [ANN])
  const { provider, collect, scopes } = recordingSdk()
  api.setGlobalMeterProvider(provider)
  await vault.as(OWNER).get('clients')
  const { 'strongroom.operations': operations } = await collect()
  expect(operations?.points).toMatchObject([{ value: 1, attributes: { 'strongroom.operation': 'get' } }])
  expect(scopes()).toMatchObject([{ name: 'strongroom', version: VERSION }])
})

it('durations do not depend on the clock of the vault, which can be stopped or set', async () => {
  const { meter, collect } = recordingSdk()
  let now = 1_700_000_000_000_000_000n
  const HOUR = 3_600_000_000_000n
  const clocks = [{ now: () => now }, { now: () => (now += HOUR) }, { now: () => (now -= HOUR) }]
  for (const clock of clocks) {
    const vault = await openMeasured(openTelemetryMetrics({ meter }), { clock })
    await vault.as(OWNER).insert('clients', [ANN])
    await vault.close()
  }
  const [durations] = histogramsOf((await collect())['strongroom.operation.duration'])
  expect(durations?.count).toBe(3)
  expect(durations?.min).toBeGreaterThan(0)
  expect(durations?.max).toBeLessThan(60)
})

it('metrics that throw change neither a result nor an error', async () => {
  const throwing = () => {
    throw new Error('the exporter is gone')
  }
  const metrics: Metrics = { operationEnded: throwing, committed: throwing, observeCaches: throwing }
  const vault = await openMeasured(metrics)
  const owner = vault.as(OWNER)
  expect((await owner.insert('clients', [ANN])).records).toHaveLength(1)
  await expect(owner.insert('clients', [ANN])).rejects.toMatchObject({ code: 'conflict' })
  await vault.close()
})

it('a meter or metrics of another kind are refused by name', async () => {
  expect(() => openTelemetryMetrics({ meter: {} as never })).toThrow('`meter` must be a meter of the OpenTelemetry API')
  await expect(openMeasured({ operationEnded() {} } as never)).rejects.toMatchObject({
    code: 'invalid_request',
    message: 'Cannot open the vault: option "metrics" must be metrics, such as openTelemetryMetrics().',
  })
})
