-- The books: double entry in millionths of the currency. Nothing is changed or deleted.
CREATE TABLE accounts (
    lib   BIGINT NOT NULL DEFAULT nw_lib(),
    id    BIGINT NOT NULL DEFAULT nw_next('accounts'),
    -- user:N, held:N, author:N, platform, outside:NAME.
    name  TEXT COLLATE "C" NOT NULL,
    -- The balance may not go below this; NULL for accounts that may owe.
    floor BIGINT,
    PRIMARY KEY (lib, id),
    UNIQUE (lib, name)
);
CALL nw_guard('accounts');

CREATE TABLE entries (
    lib  BIGINT NOT NULL DEFAULT nw_lib(),
    id   BIGINT NOT NULL,
    at   BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    -- What it is booked for. The same key again is the same entry.
    key  TEXT COLLATE "C" NOT NULL,
    -- The entry that this one ends: a capture or a release ends a hold, a refund ends what it
    -- returns. Each ends once.
    ends BIGINT,
    memo TEXT COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (lib, id),
    UNIQUE (lib, key),
    UNIQUE (lib, ends),
    FOREIGN KEY (lib, ends) REFERENCES entries (lib, id)
);
CALL nw_guard('entries');

-- Postings are written before their entry, which is accepted only if they sum to zero, and closes
-- them. The deferred reference refuses postings without an entry.
CREATE TABLE postings (
    lib     BIGINT NOT NULL DEFAULT nw_lib(),
    entry   BIGINT NOT NULL,
    account BIGINT NOT NULL,
    amount  BIGINT NOT NULL CHECK (amount <> 0),
    PRIMARY KEY (lib, entry, account),
    FOREIGN KEY (lib, entry) REFERENCES entries (lib, id) DEFERRABLE INITIALLY DEFERRED,
    FOREIGN KEY (lib, account) REFERENCES accounts (lib, id)
);
CALL nw_guard('postings');

CREATE INDEX account_postings ON postings (lib, account, entry);
CREATE INDEX entry_times ON entries (lib, at);

-- Sums of postings, kept by the trigger below. `doctor` compares.
CREATE TABLE balances (
    lib     BIGINT NOT NULL DEFAULT nw_lib(),
    account BIGINT NOT NULL,
    amount  BIGINT NOT NULL,
    PRIMARY KEY (lib, account),
    FOREIGN KEY (lib, account) REFERENCES accounts (lib, id)
);
CALL nw_guard('balances');

CREATE FUNCTION nw_entry_sums_to_zero() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT count(*) < 2 OR sum(amount) <> 0 FROM postings
        WHERE lib = NEW.lib AND entry = NEW.id) THEN
        RAISE EXCEPTION 'the postings of an entry sum to zero' USING ERRCODE = 'check_violation',
            CONSTRAINT = 'the postings of an entry sum to zero';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER entry_sums_to_zero BEFORE INSERT ON entries
FOR EACH ROW EXECUTE FUNCTION nw_entry_sums_to_zero();

CREATE FUNCTION nw_posting_of_closed_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM entries WHERE lib = NEW.lib AND id = NEW.entry) THEN
        RAISE EXCEPTION 'an entry takes no further postings' USING ERRCODE = 'check_violation',
            CONSTRAINT = 'an entry takes no further postings';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER posting_of_closed_entry BEFORE INSERT ON postings
FOR EACH ROW EXECUTE FUNCTION nw_posting_of_closed_entry();

CREATE FUNCTION nw_posting_counts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO balances (lib, account, amount) VALUES (NEW.lib, NEW.account, 0)
    ON CONFLICT DO NOTHING;
    UPDATE balances SET amount = amount + NEW.amount
    WHERE lib = NEW.lib AND account = NEW.account;
    RETURN NULL;
END $$;
CREATE TRIGGER posting_counts AFTER INSERT ON postings
FOR EACH ROW EXECUTE FUNCTION nw_posting_counts();

CREATE FUNCTION nw_balance_above_floor() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.amount < (SELECT floor FROM accounts WHERE lib = NEW.lib AND id = NEW.account) THEN
        RAISE EXCEPTION 'the balance would go below its floor' USING ERRCODE = 'check_violation',
            CONSTRAINT = 'the balance would go below its floor';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER balance_above_floor BEFORE UPDATE ON balances
FOR EACH ROW EXECUTE FUNCTION nw_balance_above_floor();

CREATE FUNCTION nw_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% append only', TG_ARGV[0] USING ERRCODE = 'check_violation',
        CONSTRAINT = TG_ARGV[0] || ' append only';
END $$;
CREATE TRIGGER accounts_are_kept BEFORE UPDATE OR DELETE ON accounts
FOR EACH ROW EXECUTE FUNCTION nw_append_only('the books are');
CREATE TRIGGER entries_are_kept BEFORE UPDATE OR DELETE ON entries
FOR EACH ROW EXECUTE FUNCTION nw_append_only('the books are');
CREATE TRIGGER postings_are_kept BEFORE UPDATE OR DELETE ON postings
FOR EACH ROW EXECUTE FUNCTION nw_append_only('the books are');
CREATE TRIGGER accounts_are_not_emptied BEFORE TRUNCATE ON accounts
FOR EACH STATEMENT EXECUTE FUNCTION nw_append_only('the books are');
CREATE TRIGGER entries_are_not_emptied BEFORE TRUNCATE ON entries
FOR EACH STATEMENT EXECUTE FUNCTION nw_append_only('the books are');
CREATE TRIGGER postings_are_not_emptied BEFORE TRUNCATE ON postings
FOR EACH STATEMENT EXECUTE FUNCTION nw_append_only('the books are');

-- Processes that may have calls under way. Each holds an advisory lock while it lives.
CREATE TABLE market_processes (
    lib     BIGINT NOT NULL DEFAULT nw_lib(),
    id      BIGINT NOT NULL DEFAULT nw_next('market_processes'),
    started BIGINT NOT NULL,
    PRIMARY KEY (lib, id)
);
CALL nw_guard('market_processes');

-- Paid calls under way. A row goes when its call ends.
CREATE TABLE holds (
    lib       BIGINT NOT NULL DEFAULT nw_lib(),
    id        BIGINT NOT NULL DEFAULT nw_next('holds'),
    process   BIGINT NOT NULL,
    at        BIGINT NOT NULL,
    -- The entry that holds the price; NULL for a trial.
    entry     BIGINT,
    "user"    BIGINT NOT NULL,
    token     BIGINT,
    method    TEXT COLLATE "C" NOT NULL,
    page      BIGINT NOT NULL,
    author    BIGINT,
    version   TEXT COLLATE "C" NOT NULL,
    price     BIGINT NOT NULL,
    request   TEXT COLLATE "C" NOT NULL,
    call      BYTEA NOT NULL,
    arguments BYTEA NOT NULL,
    PRIMARY KEY (lib, id),
    UNIQUE (lib, entry),
    FOREIGN KEY (lib, entry) REFERENCES entries (lib, id)
);
CALL nw_guard('holds');

CREATE INDEX user_holds ON holds (lib, "user");
CREATE INDEX process_holds ON holds (lib, process);

-- Calls of the last day that succeeded, so that a repeat costs nothing.
CREATE TABLE recent_calls (
    lib       BIGINT NOT NULL DEFAULT nw_lib(),
    "user"    BIGINT NOT NULL,
    call      BYTEA NOT NULL,
    arguments BYTEA NOT NULL,
    at        BIGINT NOT NULL,
    -- The entry that charged it; NULL for a trial.
    entry     BIGINT,
    PRIMARY KEY (lib, "user", call),
    FOREIGN KEY (lib, entry) REFERENCES entries (lib, id)
);
CALL nw_guard('recent_calls');

CREATE INDEX recent_call_times ON recent_calls (lib, at);

-- One row for each call of a priced method. Never arguments or content.
CREATE TABLE usage (
    lib     BIGINT NOT NULL DEFAULT nw_lib(),
    id      BIGINT NOT NULL DEFAULT nw_next('usage'),
    at      BIGINT NOT NULL,
    -- NULL for a caller without an account.
    "user"  BIGINT,
    token   BIGINT,
    method  TEXT COLLATE "C" NOT NULL,
    page    BIGINT NOT NULL,
    author  BIGINT,
    version TEXT COLLATE "C" NOT NULL,
    -- What the call costs, and what was charged for it.
    price   BIGINT NOT NULL,
    charged BIGINT NOT NULL,
    outcome TEXT COLLATE "C" NOT NULL,
    ms      BIGINT NOT NULL,
    request TEXT COLLATE "C" NOT NULL,
    -- The entry that charged it.
    entry   BIGINT,
    PRIMARY KEY (lib, id),
    UNIQUE (lib, entry),
    FOREIGN KEY (lib, entry) REFERENCES entries (lib, id)
);
CALL nw_guard('usage');

CREATE INDEX usage_times ON usage (lib, at);
CREATE INDEX user_usage ON usage (lib, "user", at);
CREATE INDEX token_usage ON usage (lib, token, at) WHERE token IS NOT NULL;
CREATE INDEX author_usage ON usage (lib, author, at);
CREATE INDEX page_usage ON usage (lib, page, at);
CREATE INDEX trial_usage ON usage (lib, "user", page) WHERE outcome = 'trial';
CREATE INDEX charged_usage ON usage (lib, "user", page) WHERE outcome = 'charged';
CREATE TRIGGER usage_is_kept BEFORE UPDATE OR DELETE ON usage
FOR EACH ROW EXECUTE FUNCTION nw_append_only('usage is');
CREATE TRIGGER usage_is_not_emptied BEFORE TRUNCATE ON usage
FOR EACH STATEMENT EXECUTE FUNCTION nw_append_only('usage is');

-- Payments from outside that were begun, and the entry that booked them.
CREATE TABLE payments (
    lib       BIGINT NOT NULL DEFAULT nw_lib(),
    id        BIGINT NOT NULL DEFAULT nw_next('payments'),
    at        BIGINT NOT NULL,
    provider  TEXT COLLATE "C" NOT NULL,
    -- Our name for it, which the provider repeats; or the hash of a signed authorisation.
    reference TEXT COLLATE "C" NOT NULL,
    -- NULL for a payer without an account.
    "user"    BIGINT,
    amount    BIGINT NOT NULL,
    currency  TEXT COLLATE "C" NOT NULL,
    -- The call that it pays for; NULL for a top-up.
    call      BYTEA,
    -- begun, settling, booked, failed or mismatch.
    state     TEXT COLLATE "C" NOT NULL,
    -- The provider's name for it: a checkout session, a transaction.
    outside   TEXT COLLATE "C" NOT NULL DEFAULT '',
    entry     BIGINT,
    PRIMARY KEY (lib, id),
    UNIQUE (lib, provider, reference),
    FOREIGN KEY (lib, entry) REFERENCES entries (lib, id)
);
CALL nw_guard('payments');

CREATE INDEX user_payments ON payments (lib, "user");

-- Events of providers that were dealt with, so that a repeat is recognised.
CREATE TABLE payment_events (
    lib      BIGINT NOT NULL DEFAULT nw_lib(),
    provider TEXT COLLATE "C" NOT NULL,
    event    TEXT COLLATE "C" NOT NULL,
    at       BIGINT NOT NULL,
    PRIMARY KEY (lib, provider, event)
);
CALL nw_guard('payment_events');
