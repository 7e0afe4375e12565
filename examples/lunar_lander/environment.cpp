// SPDX-License-Identifier: BSD-2-Clause
#include "environment.hpp"

#include <box2d/box2d.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace olaf::lunar_lander {
namespace {

// Lengths in metres, of which the published constants' units are thirtieths.
constexpr float kUnit = 1.0F / 30;
constexpr float kWidth = 600 * kUnit;
constexpr float kHeight = 400 * kUnit;
constexpr float kPad = kHeight / 4;
constexpr float kLegDown = 18 * kUnit;
constexpr float kRate = 50; // steps a second
constexpr int kPeaks = 11;  // of the landscape
// Of Box2D's solver, as published; they bound how fast a step can be.
constexpr int kVelocityIterations = 180;
constexpr int kPositionIterations = 60;

constexpr float kMainPower = 13;
constexpr float kSidePower = 0.6F;
constexpr float kFirstPush = 1000; // newtons, during one step

// Who may touch whom: the ground is everybody's, craft and legs don't touch each other.
constexpr std::uint16_t kGround = 1, kCraft = 0x10, kLeg = 0x20;

} // namespace

class Environment::World : public b2ContactListener {
  public:
    World() { physics_.SetContactListener(this); }

    void landscape(Random &random) {
        std::array<float, kPeaks + 1> peaks;
        for (float &peak : peaks)
            peak = random.uniform(0, kHeight / 2);
        std::fill(&peaks[kPeaks / 2 - 2], &peaks[kPeaks / 2 + 3], kPad);
        const auto ground = [&](int at) {
            return 0.33F * (peaks[(at + kPeaks) % (kPeaks + 1)] + peaks[at] + peaks[at + 1]);
        };
        const b2BodyDef still;
        b2Body &moon = *physics_.CreateBody(&still);
        edge(moon, {0, 0}, {kWidth, 0});
        constexpr float apart = kWidth / (kPeaks - 1);
        for (int i = 0; i + 1 < kPeaks; ++i) {
            const auto left = static_cast<float>(i);
            edge(moon, {apart * left, ground(i)}, {apart * (left + 1), ground(i + 1)});
        }
    }

    void craft(Random &random) {
        craft_ = body({kWidth / 2, kHeight}, 0);
        b2Vec2 corners[] = {{-14, 17}, {-17, 0}, {-17, -10}, {17, -10}, {17, 0}, {14, 17}};
        for (b2Vec2 &corner : corners)
            corner *= kUnit;
        b2PolygonShape hull;
        hull.Set(corners, std::size(corners));
        fixture(*craft_, hull, 5, kCraft);
        const float east = random.uniform(-kFirstPush, kFirstPush);
        craft_->ApplyForceToCenter({east, random.uniform(-kFirstPush, kFirstPush)}, true);
        leg(0, -1);
        leg(1, 1);
    }

    void advance() { physics_.Step(1 / kRate, kVelocityIterations, kPositionIterations); }

    [[nodiscard]] b2Body &craft() const { return *craft_; }
    [[nodiscard]] bool crashed() const { return crashed_; }
    [[nodiscard]] bool stands_on(int leg) const { return stands_[leg]; }

  private:
    static void fixture(b2Body &body, const b2Shape &shape, float density, std::uint16_t category) {
        b2FixtureDef fixture;
        fixture.shape = &shape;
        fixture.density = density;
        fixture.friction = category == kLeg ? 0.2F : 0.1F; // Box2D's own for legs
        fixture.filter.categoryBits = category;
        if (category != kGround)
            fixture.filter.maskBits = kGround;
        body.CreateFixture(&fixture);
    }

    static void edge(b2Body &moon, b2Vec2 from, b2Vec2 to) {
        b2EdgeShape line;
        line.SetTwoSided(from, to);
        fixture(moon, line, 0, kGround);
    }

    b2Body *body(b2Vec2 place, float angle) {
        b2BodyDef definition;
        definition.type = b2_dynamicBody;
        definition.position = place;
        definition.angle = angle;
        return physics_.CreateBody(&definition);
    }

    /// On a spring that gives way by half a radian. `side` is −1 for the left leg.
    void leg(int index, float side) {
        legs_[index] = body({kWidth / 2 - side * 20 * kUnit, kHeight}, side * 0.05F);
        b2PolygonShape box;
        box.SetAsBox(2 * kUnit, 8 * kUnit);
        fixture(*legs_[index], box, 1, kLeg);
        b2RevoluteJointDef hip;
        hip.bodyA = craft_;
        hip.bodyB = legs_[index];
        hip.localAnchorB = {side * 20 * kUnit, kLegDown};
        hip.enableMotor = true;
        hip.maxMotorTorque = 40;
        hip.motorSpeed = 0.3F * side;
        hip.enableLimit = true;
        std::tie(hip.lowerAngle, hip.upperAngle) =
            side < 0 ? std::pair(0.4F, 0.9F) : std::pair(-0.9F, -0.4F);
        physics_.CreateJoint(&hip);
    }

    void touch(b2Contact &contact, bool begins) {
        for (b2Fixture *fixture : {contact.GetFixtureA(), contact.GetFixtureB()}) {
            const b2Body *body = fixture->GetBody();
            crashed_ |= begins && body == craft_;
            for (int leg = 0; leg < 2; ++leg)
                if (body == legs_[leg])
                    stands_[leg] = begins;
        }
    }
    void BeginContact(b2Contact *contact) override { touch(*contact, true); }
    void EndContact(b2Contact *contact) override { touch(*contact, false); }

    b2World physics_{{0, -10}};
    b2Body *craft_ = nullptr;
    std::array<b2Body *, 2> legs_{};
    std::array<bool, 2> stands_{};
    bool crashed_ = false;
};

Environment::Environment() = default;
Environment::~Environment() = default;
Environment::Environment(Environment &&) noexcept = default;

const State &Environment::reset(Random &random) {
    world_ = std::make_unique<World>();
    world_->landscape(random);
    world_->craft(random);
    // The published environment takes a step without an engine before it shows its first state.
    random.uniform(), random.uniform();
    world_->advance();
    observe();
    last_shaping_ = shaping();
    steps_ = 0;
    return state_;
}

Step Environment::step(int action, Random &random) {
    const float along = random.uniform(-1, 1) * kUnit;
    fire(action, along, random.uniform(-1, 1) * kUnit);
    world_->advance();
    observe();
    ++steps_;

    const float fuel = action == kMainEngine ? 0.3F : action == kNothing ? 0 : 0.03F;
    const float reward = shaping() - std::exchange(last_shaping_, shaping()) - fuel;
    if (!world_->craft().IsAwake())
        return {100, Status::terminated};
    if (world_->crashed() || std::abs(state_[0]) >= 1)
        return {-100, Status::terminated};
    return {reward, steps_ >= kMaxEpisode ? Status::truncated : Status::running};
}

float Environment::mass() const {
    return world_->craft().GetMass();
}

float Environment::shaping() const {
    return -100 *
               (state_.segment<2>(0).norm() + state_.segment<2>(2).norm() + std::abs(state_[4])) +
           10 * (state_[6] + state_[7]);
}

/// An engine pushes the craft at its nozzle, whose place sputters along and across the craft.
void Environment::fire(int action, float along, float across) {
    b2Body &craft = world_->craft();
    const b2Vec2 up(std::sin(craft.GetAngle()), std::cos(craft.GetAngle()));
    const b2Vec2 side(-up.y, up.x);
    if (action == kMainEngine) {
        const float down = 4 * kUnit + 2 * along;
        const b2Vec2 nozzle(up.x * down + side.x * across, -up.y * down - side.y * across);
        craft.ApplyLinearImpulse(-kMainPower * nozzle, craft.GetPosition() + nozzle, true);
    } else if (action != kNothing) {
        const float out = 3 * across + static_cast<float>(action - kMainEngine) * 12 * kUnit;
        const b2Vec2 jet(up.x * along + side.x * out, -up.y * along - side.y * out);
        const b2Vec2 nozzle(jet.x - up.x * 17 * kUnit, jet.y + up.y * 14 * kUnit);
        craft.ApplyLinearImpulse(-kSidePower * jet, craft.GetPosition() + nozzle, true);
    }
}

void Environment::observe() {
    const b2Body &craft = world_->craft();
    const b2Vec2 place = craft.GetPosition(), velocity = craft.GetLinearVelocity();
    state_ << (place.x - kWidth / 2) / (kWidth / 2), (place.y - (kPad + kLegDown)) / (kHeight / 2),
        velocity.x * (kWidth / 2) / kRate, velocity.y * (kHeight / 2) / kRate, craft.GetAngle(),
        20 * craft.GetAngularVelocity() / kRate, world_->stands_on(0) ? 1.0F : 0.0F,
        world_->stands_on(1) ? 1.0F : 0.0F;
}

int pilot(const State &state) {
    const bool stands = state[6] > 0 || state[7] > 0;
    const float lean = std::clamp(state[0] * 0.5F + state[2], -0.4F, 0.4F);
    const float height = 0.55F * std::abs(state[0]);
    const float turn = stands ? 0 : (lean - state[4]) * 0.5F - state[5];
    const float climb = (stands ? 0 : (height - state[1]) * 0.5F) - state[3] * 0.5F;
    if (climb > std::abs(turn) && climb > 0.05F)
        return kMainEngine;
    return turn < -0.05F ? kRightEngine : turn > 0.05F ? kLeftEngine : kNothing;
}

} // namespace olaf::lunar_lander
