/** The page audit in a real Chromium, and who saw a record on its page. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { accessibilityFaults } from '../support/console/accessibility.ts'
import { NOW } from '../support/console/console-vault.ts'
import { CHROMIUM, openConsole, signIn, type Tab } from '../support/console/open-console.ts'

const MINUTE = 60_000

describe.skipIf(CHROMIUM === undefined)('the page audit', () => {
  let opened: Awaited<ReturnType<typeof openConsole>>
  beforeAll(async () => {
    opened = await openConsole()
    const [first = ''] = opened.customers
    const desk = opened.vault.as({
      actor: 'priya@acme.example',
      actorType: 'USER',
      roles: ['privacy_desk'],
      purpose: 'Case 4711',
    })
    for (let count = 0; count < 3; count++) await desk.getOne('customers' as never, first)
    await desk.perform('reveal', { table: 'customers', id: first, column: 'email' })
    const sam = opened.vault.as({ actor: 'sam@acme.example', actorType: 'USER', roles: ['support'], purpose: 'Case 4711' })
    await sam.perform('reveal', { table: 'customers', id: first, column: 'email' }).catch(() => {})
  })
  afterEach(() => opened?.release())
  afterAll(() => opened?.close())

  /** The browser's clock is a little ahead of that of the vault. */
  async function open(path: string, options = {}): Promise<Tab> {
    const tab = await opened.tab('', options)
    await tab.page.clock.setFixedTime(NOW + 5 * MINUTE)
    await signIn(tab.page, opened.keys.auditor)
    await tab.page.evaluate(() => {})
    await tab.page.getByRole('link', { name: path }).click()
    await tab.page.getByRole('heading', { name: path, level: 1 }).waitFor()
    return tab
  }

  it.each(['light', 'dark'] as const)('is accessible in %s, and breaks no content policy', async (colorScheme) => {
    const { page, messages } = await open('Audit', { colorScheme })
    await page.locator('.events tbody tr').first().waitFor()
    await page.locator('.chart canvas').waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    expect(messages).toEqual([])
  })

  it('counts by kind and refusal, filters, and opens an event with its request, by keys alone', async () => {
    const { page } = await open('Audit')
    await page.locator('.legend li', { hasText: 'Refused 1' }).waitFor()
    await page.getByRole('combobox', { name: 'Action' }).selectOption('DETOKENIZE')
    await page.locator('.events tbody tr').nth(1).waitFor()
    await page.waitForFunction(() => document.querySelectorAll('.events tbody tr').length === 2)
    const rows = await page.locator('.events tbody tr').allTextContents()
    expect(rows[0]).toMatch(/sam@acme\.example.*detokenize.*Case 4711.*refused 401/)
    expect(rows[1]).toMatch(/priya@acme\.example.*detokenize.*Case 4711.*in plain text/)
    await page.locator('.events .time').nth(1).focus()
    await page.keyboard.press('Enter')
    const drawer = page.getByRole('dialog', { name: 'Event' })
    await drawer.getByText(`RECORD/${opened.customers[0]}`).waitFor()
    expect(await drawer.locator('.content').textContent()).toContain('"column": "email"')
    expect(await accessibilityFaults(page)).toEqual([])
    await page.keyboard.press('Escape')
    expect(await page.evaluate(() => document.activeElement?.className)).toBe('time')
    await page.getByLabel('Purpose', { exact: true }).fill('another case')
    await page.keyboard.press('Enter')
    await page.getByText('No event matches.').waitFor()
    // What is looked for is in no address.
    expect(page.url()).not.toContain('another')
  })

  it('shows the names of keys, chooses a time by dragging, and checks the chain', async () => {
    const { page, requests } = await open('Audit')
    await page.getByRole('cell', { name: 'auditor' }).first().waitFor()
    await page.getByRole('button', { name: 'Check chain' }).click()
    await page
      .getByText(/^Chain whole: \d+ events checked$/)
      .first()
      .waitFor()
    const before = await page.getByLabel('From', { exact: true }).inputValue()
    const chart = await page.locator('.chart .u-over').boundingBox()
    if (chart === null) return expect.fail('the chart is drawn')
    await page.mouse.move(chart.x + 10, chart.y + 20)
    await page.mouse.down()
    await page.mouse.move(chart.x + 200, chart.y + 30)
    await page.mouse.up()
    await page.waitForFunction((last) => {
      const field = [...document.querySelectorAll<HTMLInputElement>('input[type=datetime-local]')][0]
      return field !== undefined && field.value !== last
    }, before)
    await page.getByText('No event matches.').waitFor()
    expect(requests.every((url) => !url.includes('?'))).toBe(true)
  })

  it('is not offered without AUDIT, and the page of a record says who saw it to those who have it', async () => {
    const { page } = await opened.signedIn('support')
    expect(await page.getByRole('link', { name: 'Audit' }).count()).toBe(0)
    const desk = await opened.tab(`/tables/customers/${opened.customers[0]}`)
    await signIn(desk.page, opened.keys.desk)
    const seen = desk.page.getByRole('region', { name: 'Who saw this record' })
    await seen
      .getByText(/priya@acme\.example, opened masked 3 times|privacy desk, opened masked/)
      .first()
      .waitFor()
    const texts = await seen.locator('li').allTextContents()
    expect(texts.join('\n')).toMatch(/sam@acme\.example, refused.*Case 4711/)
    expect(texts.join('\n')).toMatch(/priya@acme\.example, revealed/)
    expect(texts.join('\n')).toMatch(/priya@acme\.example, opened masked 3 times/)
  })
})
