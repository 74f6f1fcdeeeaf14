/** The page of a record in a real Chromium: what is shown of it, and how it is edited, inserted and deleted; its files and tokens. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { accessibilityFaults } from '../support/console/accessibility.ts'
import { type ConsoleVault, CUSTOMERS } from '../support/console/console-vault.ts'
import { CHROMIUM, type OpenedConsole, openConsole } from '../support/console/open-console.ts'
import { OWNER } from '../support/vaults/test-vault.ts'

describe.skipIf(CHROMIUM === undefined)('the page of a record', () => {
  let opened: OpenedConsole & ConsoleVault
  beforeAll(async () => {
    opened = await openConsole()
  })
  afterEach(() => opened?.release())
  afterAll(() => opened?.close())

  const stored = (id: string | undefined) =>
    opened.vault.as(OWNER).getOne('customers', id ?? '', { redaction: 'PLAIN_TEXT' }) as Promise<{
      fields: Record<string, unknown>
    }>

  it('shows the fields at the level of the caller, asks for tokens by a click only, and is accessible', async () => {
    const { page, messages, received } = await opened.signedIn('desk', `/tables/customers/${opened.customers[0]}`)
    await page.getByRole('button', { name: 'Reveal name' }).waitFor()
    expect(await page.locator('.record-value').allTextContents()).toEqual(
      expect.arrayContaining(['L••••••••, masked', 'redacted', 'DE', '120']),
    )
    expect(await accessibilityFaults(page)).toEqual([])
    const token = (
      (await opened.vault.as(OWNER).getOne('customers', opened.customers[0] ?? '', { tokenization: true })) as {
        tokens?: Record<string, string>
      }
    ).tokens?.name
    expect(await received()).not.toContain(token)
    await page.getByRole('button', { name: 'Show tokens' }).click()
    await page.getByText(token ?? '').waitFor()
    expect(messages).toEqual([])
  })

  it('says the same of a record that does not exist and of one that is hidden', async () => {
    const texts: (string | null)[] = []
    // The second one is not of the country of the analyst.
    for (const id of ['00000000-0000-4000-8000-000000000000', opened.customers[1]]) {
      const { page } = await opened.signedIn('analyst', `/tables/customers/${id}`)
      await page.getByRole('heading', { name: 'No such record.' }).waitFor()
      texts.push(await page.locator('.empty').textContent())
      opened.release()
    }
    expect(texts[0]).toBe(texts[1])
  })

  it('writes what was typed, keeps what is masked, marks the field of an error, and refuses a record that changed', async () => {
    const id = opened.customers[1]
    const { page, messages } = await opened.signedIn('owner', `/tables/customers/${id}`)
    await page.getByRole('button', { name: 'Edit' }).click()
    const field = (name: string) => page.getByLabel(name, { exact: false }).and(page.locator('.input'))
    expect(await field('phone').getAttribute('placeholder')).toBe('kept as it is')
    expect(await field('phone').inputValue()).toBe('')
    expect(await field('country').inputValue()).toBe('US')
    expect(await accessibilityFaults(page)).toEqual([])
    await field('country').fill('SE')
    await field('risk').fill('many')
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.locator('#error-risk').waitFor()
    expect([await field('risk').getAttribute('aria-invalid'), await field('country').getAttribute('aria-invalid')]).toEqual([
      'true',
      'false',
    ])
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('field-risk')
    await page.getByRole('button', { name: 'Set risk to null' }).click()
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByRole('button', { name: 'Edit' }).waitFor()
    const { fields } = await stored(id)
    expect(fields).toMatchObject({ country: 'SE', risk: null, phone: CUSTOMERS[1].phone, name: CUSTOMERS[1].name })
    await page.getByRole('button', { name: 'Edit' }).click()
    await opened.vault.as(OWNER).updateOne('customers', id ?? '', { risk: 1 } as never)
    await field('country').fill('NO')
    await page.getByRole('button', { name: 'Save changes' }).click()
    expect(await page.getByRole('alert').textContent()).toContain('Update failed.')
    expect((await stored(id)).fields.country).toBe('SE')
    expect(messages.filter((one) => !/status of [45]/.test(one))).toEqual([])
  })

  it('inserts a record, and deletes it once that is confirmed', async () => {
    const { page } = await opened.signedIn('owner', '/tables/disputes')
    await page.getByRole('link', { name: 'Insert' }).click()
    await page.getByRole('textbox', { name: 'reason' }).fill('A*******')
    await page.getByRole('button', { name: 'Insert record' }).click()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.keyboard.press('Escape')
    expect(await page.locator('.record-value').textContent()).toBe('A*******')
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('button', { name: 'Delete record' }).click()
    await page.getByRole('heading', { name: 'No records yet.' }).waitFor()
  })

  it('uploads a file, says the state of its scan, and downloads and deletes it', async () => {
    const { page } = await opened.signedIn('owner', `/tables/customers/${opened.customers[2]}`)
    await page.getByText('no file').waitFor()
    const file = { name: "letter 'ü'.txt", mimeType: 'text/plain', buffer: Buffer.from('Dear customer') }
    await page.getByLabel('File for letter').setInputFiles(file)
    await page.getByText("letter 'ü'.txt").waitFor()
    expect(await page.getByRole('region', { name: 'Files' }).textContent()).toContain('not scanned')
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download' }).click()
    expect((await download).suggestedFilename()).toMatch(/^letter .ü.\.txt$/)
    await page.getByRole('button', { name: 'Delete file' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete file' }).click()
    await page.getByText('no file').waitFor()
  })

  it('has no button for what the caller may not do', async () => {
    const { page } = await opened.signedIn('support', `/tables/customers/${opened.customers[3]}`)
    await page.locator('.record-value .value').first().waitFor()
    for (const name of ['Edit', 'Delete', 'Upload', /^Reveal/]) expect(await page.getByRole('button', { name }).count()).toBe(0)
  })
})
