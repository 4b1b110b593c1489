"""Invoices worked by hand: per second, per minute, per hour, minimum charge, storage, spot, host meters, unknowns."""

import pytest

from ajuste.card import Range
from ajuste.catalog import Offer
from ajuste.constants import ASSUMPTIONS
from ajuste.cost import Rental, bill, billed_hours, billing_terms, extras
from ajuste.hours import JobHours, Parts, job_hours
from ajuste.plan import Job
from ajuste.spot import Market, Spot, expected

OFFER = Offer("p", "1x", "g", 1, None, "on-demand", 2.0, 8, 64, "listed", "A", (), "2026-11-20", "https://e.org", 0)
JOB = Job(1, 0, None, None, None, None, None, None, None, "wait", True, 0, 0)
PER_SECOND = {"billing_granularity_seconds": 1, "minimum_charge_seconds": 0, "block_storage_usd_per_gb_month": 0.1}
PER_SECOND |= {"egress_usd_per_gb": 0.05}


def hours(work: float, setup: float = 0.0, idle: float = 0.0) -> JobHours:
    return JobHours(Parts(train=work, provision=setup, idle=idle), setup, work, work + setup + idle)


def charge(provider: dict, job_hours_: JobHours, job: Job = JOB, disk_gb: float = 0.0, offer: Offer = OFFER,
           spot: Spot | None = None, fallback: float = 0.0, bridged: float = 0.0):  # fmt: skip
    rental = Rental(job_hours_, job.experiments, spot, bridged)
    more = extras(offer, provider, job, disk_gb)
    return bill(offer, billing_terms(provider), more, (rental, rental, rental), fallback)


def adds_up(invoice) -> bool:
    total = sum(line or 0 for line in invoice.breakdown.values())
    return total == pytest.approx(invoice.usd.mid)


def test_by_the_second():
    # 3 h 20 min of training, 6 min of set-up, at 2.00 USD/h: 3.43333 h → 12,360 s → 6.86667 USD.
    invoice = charge(PER_SECOND, hours(3 + 1 / 3, 0.1))
    assert invoice.usd.mid == pytest.approx(12_360 / 3600 * 2)
    assert invoice.breakdown["setup"] == pytest.approx(0.2)
    assert invoice.breakdown["rounding"] == pytest.approx(0, abs=2 / 3600)
    assert adds_up(invoice)


def test_by_the_minute():
    # 10 min 1 s is billed as 11 minutes: 11/60 × 2.00 = 0.366667 USD, of which 59 s are rounding.
    invoice = charge(PER_SECOND | {"billing_granularity_seconds": 60}, hours(601 / 3600))
    assert invoice.usd.mid == pytest.approx(11 / 60 * 2)
    assert invoice.breakdown["rounding"] == pytest.approx(59 / 3600 * 2)
    assert adds_up(invoice)


def test_by_the_hour():
    # 3 h 20 min is billed as 4 h: 8.00 USD, 1.33333 of rounding.
    invoice = charge(PER_SECOND | {"billing_granularity_seconds": 3600}, hours(3 + 1 / 3))
    assert invoice.usd.mid == pytest.approx(8.0)
    assert invoice.breakdown["rounding"] == pytest.approx(2 / 3 * 2)
    assert invoice.billed.mid == 4
    assert adds_up(invoice)


def test_a_whole_number_of_steps_is_not_rounded_up():
    # 3 × 0.1 h in floating point is 0.30000000000000004 h: still 18 minutes.
    assert billed_hours(3 * 0.1, 1 / 60, 0) == pytest.approx(18 / 60)
    assert billed_hours(2.0, 1.0, 0) == 2.0


def test_minimum_charge():
    # 4 minutes with a minimum of 10: 10/60 × 2.00 = 0.333333 USD.
    invoice = charge(PER_SECOND | {"minimum_charge_seconds": 600}, hours(4 / 60))
    assert invoice.usd.mid == pytest.approx(10 / 60 * 2)
    assert adds_up(invoice)


def test_every_experiment_is_a_rental_of_its_own():
    # Three experiments of 1 h 30 min, hourly billing: 3 × 2 h × 2.00 = 12.00 USD, not 5 h = 10.00.
    fixed = Parts(provision=0.25)
    total = job_hours(fixed, 1.25, 0.0, 3, persistent=True)
    assert total.total == pytest.approx(4.5)
    invoice = charge(PER_SECOND | {"billing_granularity_seconds": 3600}, total, JOB._replace(experiments=3))
    assert invoice.usd.mid == pytest.approx(12.0)
    assert adds_up(invoice)


def test_set_up_is_paid_again_where_storage_does_not_persist():
    # 0.5 h of download and tokenising: once with a disk that stays, four times without. 3 × 0.5 h × 2.00 = 3.00 more.
    fixed = Parts(download=0.4, tokenize=0.1, load=0.05)
    job = JOB._replace(experiments=4)
    kept = charge(PER_SECOND, job_hours(fixed, 1.0, 0.0, 4, persistent=True), job)
    lost = charge(PER_SECOND, job_hours(fixed, 1.0, 0.0, 4, persistent=False), job)
    assert lost.usd.mid - kept.usd.mid == pytest.approx(3.0, abs=0.01)


def test_idle_time_between_experiments():
    # Two experiments of 1 h with 0.75 h of looking at each: 2 × 0.75 × 2.00 = 3.00 USD of idle machine.
    total = job_hours(Parts(idle=0.75), 1.0, 0.0, 2, persistent=True)
    invoice = charge(PER_SECOND, total, JOB._replace(experiments=2))
    assert invoice.breakdown["idle"] == pytest.approx(3.0)
    assert invoice.usd.mid == pytest.approx(7.0)
    assert adds_up(invoice)


def test_storage_while_running():
    # 200 GB, of which the machine includes 50 (assumption): 150 GB × 0.10 USD per GB and month × 73 h / 730 h = 1.50.
    invoice = charge(PER_SECOND, hours(73.0), disk_gb=200)
    assert invoice.breakdown["storage"] == pytest.approx(1.5)
    # Low: 100 GB included, 1.00 USD; high: nothing included, 2.00 USD.
    assert invoice.usd.low == pytest.approx(146 + 1.0)
    assert invoice.usd.high == pytest.approx(146 + 2.0)
    assert adds_up(invoice)


def test_storage_while_stopped():
    # 200 GB kept for 30 days after a job of an hour, at 0.20 USD per GB and month while stopped:
    # 200 × 0.20 × 30·24/730 = 39.4521 USD, twenty times the job.
    provider = PER_SECOND | {"stopped_storage_usd_per_gb_month": 0.2}
    invoice = charge(provider, hours(1.0), JOB._replace(keep_storage_days=30), disk_gb=200)
    running = 150 * 0.1 / 730
    assert invoice.breakdown["storage"] == pytest.approx(200 * 0.2 * 720 / 730 + running)
    assert adds_up(invoice)


def test_storage_kept_at_the_price_of_the_disk():
    # A catalog holds every fact, the unknown as null. 581 GB kept for 90 days at 0.10 USD:
    # 581 × 0.1 × 90·24/730 = 171.91.
    provider = PER_SECOND | {"stopped_storage_usd_per_gb_month": None, "block_storage_usd_per_gb_month": 0.1}
    invoice = charge(provider, hours(0.0), JOB._replace(keep_storage_days=90), disk_gb=581)
    assert invoice.breakdown["storage"] == pytest.approx(171.91, abs=0.01)
    assert "storage_stopped" not in invoice.unknown
    assert adds_up(invoice)


def test_egress():
    # 100 GB, 20 of them free, at 0.05: 80 × 0.05 = 4.00 USD.
    provider = PER_SECOND | {"free_egress_gb_per_month": 20}
    invoice = charge(provider, hours(1.0), JOB._replace(egress_gb=100))
    assert invoice.breakdown["egress"] == pytest.approx(4.0)
    assert adds_up(invoice)


def test_host_meters_apart():
    # 8 vCPU × 0.03 + 64 GiB × 0.004 = 0.496 USD per hour beside the GPU: 10 h → 4.96.
    provider = PER_SECOND | {"host_usd_per_vcpu_hour": 0.03, "host_usd_per_gib_hour": 0.004}
    invoice = charge(provider, hours(10.0), offer=OFFER._replace(assumed=("host_extra",)))
    assert invoice.breakdown["host"] == pytest.approx(4.96)
    assert invoice.usd.mid == pytest.approx(24.96)
    assert adds_up(invoice)


def test_host_meters_of_unknown_price():
    invoice = charge(PER_SECOND, hours(10.0), offer=OFFER._replace(assumed=("host_extra",)))
    assert invoice.breakdown["host"] is None
    assert "host" in invoice.unknown
    # High: 8 vCPU and 64 GiB at the assumptions' high end, 10 h.
    vcpu, gib = ASSUMPTIONS["host-usd-per-vcpu-hour"].high, ASSUMPTIONS["host-usd-per-gib-hour"].high
    assert invoice.usd.high - invoice.usd.mid == pytest.approx(80 * vcpu + 640 * gib)
    assert adds_up(invoice)


def test_a_host_meter_of_which_half_is_known():
    # 8 vCPU × 0.012 × 10 h = 0.96 USD; the RAM's price is not known: named, and the high bill counts it.
    invoice = charge(
        PER_SECOND | {"host_usd_per_vcpu_hour": 0.012}, hours(10.0), offer=OFFER._replace(assumed=("host_extra",))
    )
    assert invoice.breakdown["host"] == pytest.approx(0.96)
    assert "host" in invoice.unknown
    assert invoice.usd.high - invoice.usd.mid == pytest.approx(640 * ASSUMPTIONS["host-usd-per-gib-hour"].high)
    assert adds_up(invoice)


def test_host_meters_of_a_machine_that_the_renter_sizes():
    # Two GPUs, 4 vCPU (2 to 8) and 32 GiB (16 to 64) asked for with each, 0.0236 per vCPU and 0.008 per GiB:
    # 2 × (4 × 0.0236 + 32 × 0.008) = 0.7008 USD per hour; low half of it, high twice.
    provider = PER_SECOND | {"host_usd_per_vcpu_hour": 0.0236, "host_usd_per_gib_hour": 0.008}
    machine = OFFER._replace(gpus=2, vcpus=None, ram_gib=None, assumed=("host_extra",))
    invoice = charge(provider, hours(1.0), offer=machine)
    assert invoice.breakdown["host"] == pytest.approx(0.7008)
    assert invoice.usd == pytest.approx((2.3504, 2.7008, 3.4016))
    assert adds_up(invoice)


def test_an_unknown_step_and_minimum_widen_the_bill():
    # Nothing known of how it bills: 20 min cost between 0.666667 and a whole hour, 2.00.
    invoice = charge({"block_storage_usd_per_gb_month": 0.1}, hours(1 / 3))
    assert set(invoice.unknown) == {"billing_granularity", "minimum_charge"}
    assert invoice.usd == pytest.approx((2 / 3, 2 / 3, 2.0))
    assert adds_up(invoice)


def test_an_unknown_price_of_storage_is_never_zero_in_the_high_bill():
    invoice = charge({"billing_granularity_seconds": 1, "minimum_charge_seconds": 0}, hours(730.0), disk_gb=100)
    assert invoice.breakdown["storage"] is None
    assert invoice.usd.high - invoice.usd.mid == pytest.approx(100 * ASSUMPTIONS["storage-usd-per-gb-month"].high)
    assert adds_up(invoice)


def test_interrupted_spot():
    # 10 h of work in 10 segments of 1 h, one interruption in 5 h, set-up and restart 0.2 h, at 2.00 USD/h:
    # the set-up runs (e^(0.2·0.2) − 1) / 0.2 = 0.204054 h; each segment (1 − e^−0.2)/0.2 + (1 − e^−0.2)(e^0.24 − 1)/0.2
    # = 0.906346 + 0.181269 · 1.356246 = 1.152192 h: in all 11.725974 h, 23.451948 USD.
    spot = expected(10.0, 0.2, 0.0, 10, Market(0.2, 0.5, 0.2))
    assert spot.billed == pytest.approx(11.725974, rel=1e-5)
    provider = PER_SECOND | {"billing_granularity_seconds": 0}
    invoice = charge(provider, hours(10.0, 0.2), offer=OFFER._replace(purchase="spot"), spot=spot)
    assert invoice.usd.mid == pytest.approx(23.451948, rel=1e-5)
    assert invoice.breakdown["interruptions"] == pytest.approx((11.725974 - 10.2) * 2, rel=1e-4)
    assert invoice.hours.mid == pytest.approx(spot.billed + spot.waiting)  # waiting takes time, not money
    assert adds_up(invoice)


def test_each_interruption_rounds_a_rental_of_its_own():
    # Hourly billing: every interrupted rental loses half an hour on average.
    spot = expected(10.0, 0.2, 0.0, 10, Market(0.2, 0.5, 0.2))
    hourly = PER_SECOND | {"billing_granularity_seconds": 3600}
    invoice = charge(hourly, hours(10.0, 0.2), offer=OFFER._replace(purchase="spot"), spot=spot)
    assert invoice.billed.mid == pytest.approx(12 + spot.interruptions / 2)
    assert adds_up(invoice)


def test_on_demand_bridges_the_gaps_of_spot():
    # A quarter of the time on demand at 6.00 instead of spot at 2.00: 8 h × (0.75 × 2 + 0.25 × 6) = 24 USD.
    spot = Spot(1, 8.0, 0.0, 0.0, 0.0, 8.0, 1.0)
    invoice = charge(PER_SECOND, hours(8.0), spot=spot, fallback=6.0, bridged=0.25)
    assert invoice.usd.mid == pytest.approx(24.0, abs=0.01)
    assert adds_up(invoice)


def test_low_mid_high_keep_their_order():
    short, middle, long = (Rental(hours(h), 1, None) for h in (1.0, 1.5, 3.0))
    more = extras(OFFER, PER_SECOND, JOB, 0.0)
    invoice = bill(OFFER, billing_terms(PER_SECOND), more, (short, middle, long), 0.0)
    assert isinstance(invoice.usd, Range)
    assert invoice.usd.low < invoice.usd.mid < invoice.usd.high
