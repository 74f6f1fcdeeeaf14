/** The page of a table in a real Chromium: the grid by keys and by wheel, look-ups, reveals, and what each role sees. */
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { accessibilityFaults } from '../support/console/accessibility.ts'
import { type ConsoleVault, CUSTOMERS, openConsoleVault } from '../support/console/console-vault.ts'
import { CHROMIUM, type OpenedConsole, openConsoleOn } from '../support/console/open-console.ts'
import { walkRows } from '../support/console/walk-rows.ts'
import { OWNER } from '../support/vaults/test-vault.ts'

const EXTRA = 900

const grid = (page: Page) => page.locator('[role=grid]')
const text = (page: Page, row: number, column: number) => page.locator(`#cell-${row}-${column} > span`).first().textContent()
const status = (page: Page) => page.locator('.foot').textContent()
const isFocused = (page: Page) => grid(page).evaluate((element) => element === document.activeElement)
const ready = (page: Page) => page.locator('#cell-0-1 .value').waitFor()

/** Returns the text of the current cell; undefined if `aria-activedescendant` names no element. */
function currentCell(page: Page): Promise<string | undefined> {
  return grid(page).evaluate((element) => {
    const cell = document.getElementById(element.getAttribute('aria-activedescendant') ?? '')
    return cell === null || !element.contains(cell) ? undefined : cell.id
  })
}

async function press(page: Page, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key)
}

describe.skipIf(CHROMIUM === undefined)('the page of a table', () => {
  let opened: OpenedConsole & ConsoleVault
  beforeAll(async () => {
    const vault = await openConsoleVault({ extra: EXTRA })
    opened = { ...vault, ...(await openConsoleOn(vault)) }
  })
  afterEach(() => opened?.release())
  afterAll(() => opened?.close())

  /** Returns the newest events of a caller. */
  async function eventsOf(action: string) {
    const { events } = await opened.vault.as(OWNER).listEvents({ filterOps: { actionType: action }, limit: 50 } as never)
    return events
  }

  it('walks to the end with each record once, few elements, and the current row always drawn', async () => {
    const { page, messages } = await opened.signedIn('desk', '/tables/customers')
    await ready(page)
    const { ids, elements } = await walkRows(page)
    expect(ids).toEqual(opened.customers)
    expect(elements).toBeLessThan(1200)
    expect(await currentCell(page)).toBe('cell-0-0')
    expect(await grid(page).getAttribute('aria-rowcount')).toBe(String(EXTRA + CUSTOMERS.length + 1))
    await page.getByRole('button', { name: 'Newest first' }).click()
    await ready(page)
    expect(await page.locator('#cell-0-0 a').getAttribute('href')).toContain(opened.customers.at(-1))
    expect(messages).toEqual([])
  })

  it('is one tab stop, moves by its keys, and is accessible', async () => {
    const { page } = await opened.signedIn('desk', '/tables/customers')
    await ready(page)
    await page.getByRole('button', { name: 'Skip to records' }).focus()
    await press(page, 'Enter')
    expect(await isFocused(page)).toBe(true)
    const moves: [string, string][] = [
      ['ArrowDown', 'cell-1-0'],
      ['ArrowRight', 'cell-1-1'],
      ['End', 'cell-1-6'],
      ['Home', 'cell-1-0'],
      ['Control+End', 'cell-399-6'],
      ['Control+Home', 'cell-0-0'],
      ['ArrowUp', 'cell-0-0'],
    ]
    for (const [key, cell] of moves) {
      await press(page, key)
      expect([key, await currentCell(page)]).toEqual([key, cell])
    }
    await press(page, 'PageDown', 'PageDown', 'ArrowRight')
    await grid(page).evaluate((element) => element.scrollTo(0, 6000))
    await page.waitForFunction(() => document.querySelector('[aria-rowindex="180"]') !== null)
    expect(await currentCell(page)).toMatch(/^cell-[2-9]\d-1$/)
    await press(page, 'w')
    expect(await page.getByRole('dialog').textContent()).toContain('privacy_desk #1')
    expect(await accessibilityFaults(page)).toEqual([])
    await press(page, 'Escape')
    expect(await isFocused(page)).toBe(true)
    await press(page, 'End', 'c')
    expect(await page.locator('output').textContent()).toBe('risk copied')
    await press(page, 'Control+Home', 'Enter')
    await page.waitForURL(`**/tables/customers/${opened.customers[0]}`)
    await page.goBack()
    await ready(page)
  })

  it('reveals one cell with a purpose, once, hides it, and refuses without one', async () => {
    const { page, received } = await opened.signedIn('desk', '/tables/customers')
    await ready(page)
    await grid(page).focus()
    await press(page, 'ArrowDown', 'ArrowRight', 'r')
    const dialog = page.getByRole('dialog')
    const reveal = dialog.getByRole('button', { name: 'Reveal for 60 s' })
    expect([await reveal.isDisabled(), await accessibilityFaults(page)]).toEqual([true, []])
    await page.keyboard.type('abc')
    expect(await reveal.isDisabled()).toBe(true)
    await page.keyboard.type('d: ünïcode 👩‍👩‍👧'.padEnd(200, 'x'))
    expect((await dialog.getByPlaceholder('Case 4711').inputValue()).length).toBe(128)
    expect(await received()).not.toContain(CUSTOMERS[1].name)
    await reveal.dblclick()
    await page.locator('#cell-1-1 .value-revealed').waitFor()
    expect(await text(page, 1, 1)).toContain(CUSTOMERS[1].name)
    expect(await isFocused(page)).toBe(true)
    expect(await status(page)).toContain('name is revealed')
    const events = await eventsOf('DETOKENIZE')
    expect(events.length).toBe(1)
    expect(JSON.stringify(events)).toContain(opened.customers[1])
    await press(page, 'c')
    expect(await page.locator('output').textContent()).toBe('Only plain values can be copied')
    await press(page, 'Escape')
    expect(await page.locator('.value-revealed').count()).toBe(0)
    await press(page, 'r')
    await dialog.getByRole('button', { name: 'Customer asked' }).click()
    await dialog.getByRole('button', { name: 'Reveal for 60 s' }).click()
    await page.getByRole('button', { name: 'Hide 1 revealed' }).click()
    expect(await page.locator('.value-revealed').count()).toBe(0)
    await opened.vault.as(OWNER).deleteOne('customers', opened.customers[1] ?? '')
    await grid(page).focus()
    await press(page, 'r')
    await page.keyboard.type('It is gone')
    await press(page, 'Enter')
    expect(await dialog.getByRole('alert').textContent()).toMatch(/^Reveal failed\./)
  })

  it('shows each role another table, and no byte of what it may not see', async () => {
    const seen: Record<string, unknown> = {}
    for (const caller of ['desk', 'support', 'analyst'] as const) {
      const { page, messages, received } = await opened.signedIn(caller, '/tables/customers')
      await page.locator('#cell-0-1 > span:not(.skeleton)').waitFor()
      seen[caller] = await page.getByRole('columnheader').allTextContents()
      expect(messages).toEqual([])
      // A name that looks masked equals its mask.
      const markers = CUSTOMERS.flatMap(({ name, ssn, address }) => [name, ssn, address]).filter((one) => !one.includes('*'))
      const bytes = await received()
      expect(markers.filter((marker) => bytes.includes(JSON.stringify(marker).slice(1, -1)))).toEqual([])
      opened.release()
    }
    expect(seen.desk).toContain('address, redacted')
    expect(seen.support).toEqual(['id', 'name, masked', 'email, masked', 'phone, masked', 'country, redacted'])
    expect(seen.analyst).toEqual(['id', 'country, depends on the record', 'risk, depends on the record'])
  })

  it('looks up a whole value in the body of a request, and says what it does not find', async () => {
    const { page, requests } = await opened.signedIn('support', '/tables/customers')
    await ready(page)
    await press(page, '/')
    await page.keyboard.type(CUSTOMERS[0].email)
    await press(page, 'Enter')
    await page.getByText('1 of 1').waitFor()
    expect(await text(page, 0, 2)).toContain('@surfeu.example')
    await press(page, '/')
    await page.keyboard.type('none@mail.example')
    await press(page, 'Enter')
    await page.getByRole('heading', { name: 'No record with this email.' }).waitFor()
    await page.getByRole('button', { name: 'Show all records' }).last().click()
    await ready(page)
    expect(requests.join()).not.toMatch(/surfeu|none@|none%40/)
    expect(page.url()).toBe(`${opened.url}/tables/customers`)
  })

  it('keeps its rows when a page fails, goes on after another try, and aborts what it leaves', async () => {
    const { page } = await opened.signedIn('desk', '/tables/customers')
    await ready(page)
    await page.waitForFunction(() => document.querySelector('[aria-busy=false]') !== null)
    await page.route('**/get', (route) => route.abort())
    await grid(page).focus()
    await press(page, 'Control+End')
    await page.getByText('The server does not answer.').waitFor()
    expect(await status(page)).toContain('400 of')
    await page.unroute('**/get')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('The server does not answer.').waitFor({ state: 'detached' })
    await grid(page).focus()
    await press(page, 'Control+End')
    await page.waitForFunction(() => document.querySelector('#cell-599-1, #cell-799-1') !== null)
    await page.route('**/get', () => undefined)
    const asked = page.waitForRequest('**/get')
    await page.getByRole('button', { name: 'Newest first' }).click()
    await asked
    const aborted = page.waitForEvent('requestfailed')
    await press(page, 'g', 'q')
    expect((await aborted).failure()?.errorText).toBe('net::ERR_ABORTED')
  })

  it('says of a hidden table and of none the same, and what an empty one is', async () => {
    const texts: (string | null)[] = []
    for (const name of ['orders', 'no_such_table']) {
      const { page } = await opened.signedIn('support', `/tables/${name}`)
      texts.push(await page.locator('main').textContent())
      opened.release()
    }
    expect(texts[0]).toBe(texts[1])
    expect(texts[0]).toContain('No such table.')
    const { page } = await opened.signedIn('desk', '/tables/disputes')
    await page.getByRole('heading', { name: 'No records yet.' }).waitFor()
    expect(await page.locator('main').textContent()).toContain('Insert one here')
  })
})
